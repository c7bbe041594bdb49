import type { X509Certificate } from 'node:crypto'

/** A certificate followed by those of its issuers, as far as `others` contains them. */
export function chainOf(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
): X509Certificate[] {
  const chain = [certificate]
  for (let last = certificate; ;) {
    const issuer = others.find((each) => !chain.includes(each) && last.checkIssued(each))
    if (issuer === undefined || last.checkIssued(last)) return chain
    chain.push(issuer)
    last = issuer
  }
}
