// Package wire is the part that the adapters for providers have in common: bodies
// of requests that grow only at their end ([Encode]), posting them ([Post]), event
// streams ([Events]), replies ([Read]), and the errors of providers and connections
// in plain words ([Place]).
//
// An adapter is a [Format], which encodes requests, and a [Reader], which decodes
// responses. Package wire knows the format of no provider.
package wire
