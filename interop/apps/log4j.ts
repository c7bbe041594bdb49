/** A `log4j.properties` for Java servers: everything goes to stderr, and so into their log file. */
export const log4jProperties = `
log4j.rootLogger=INFO, err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %c{1}: %m%n
`
