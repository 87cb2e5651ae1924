// Package a2aclient gives work to agents elsewhere that speak A2A 1.0: see
// https://a2a-protocol.org. A [Client] asks one of them, over JSON-RPC or HTTP+JSON,
// and [Tools] are what a session uses to send it a task, to follow the task, and to
// save the result.
//
// # Trust
//
// An agent elsewhere is a program of another author. A person approves it by its card,
// which says what it can do and where it is asked. An agent whose card is another one
// than the person approved gets no work. Its words and files are labelled with their
// source ("a2a:NAME") and are never trusted. The key goes to the address of the card
// and to the address that the approved card names, and nowhere else. Redirects are not
// followed.
//
// # Bounds
//
// What an agent answers has limits: of a card, of an answer, of an event, of files and
// of time. A stream that breaks off or is silent for too long is opened again, from the
// last event that arrived.
package a2aclient
