/** The scheme of each of ZooKeeper's providers, by the end of its class name. */
export const knownProviders: Readonly<Record<string, string>> = {
  SASLAuthenticationProvider: 'sasl',
  X509AuthenticationProvider: 'x509',
  EnsembleAuthenticationProvider: 'ensemble',
  DigestAuthenticationProvider: 'digest',
  IPAuthenticationProvider: 'ip',
}
