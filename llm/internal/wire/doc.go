// Package wire is the part that the adapters for providers have in common: bodies
// of requests that grow only at their end ([Encode]), posting them ([Post]), event
// streams ([Events]), replies ([Read]), and the errors of providers and connections
// in plain words ([Place]).
//
// An adapter is a [Format], which encodes requests, and a [Reader], which decodes
// responses. Package wire knows the format of no provider.
//
// # What the adapters share
//
// An [Adapter] is a model: it encodes the request, posts it, and reads the stream or the
// whole reply, whichever the server sends. The encoding of messages that do not change any
// more is kept in the request's memo, so a longer conversation costs only its new
// messages, and the bytes that a provider may have cached stay the same.
//
// Errors are an [llm.Error]: their kind decides whether another attempt is worthwhile, and
// their text names the provider and what to do. Keys are removed from every text that
// comes back.
package wire
