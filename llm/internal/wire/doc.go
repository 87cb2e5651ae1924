// Package wire is what the adapters of package llm share: bodies that grow at
// their end, event streams and what can be wrong with them, and the errors of
// providers and connections, in words and kinds. It knows no provider's
// format, and sends nothing.
package wire
