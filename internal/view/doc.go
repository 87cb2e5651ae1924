// Package view is what a session shows people: messages, calls and their outcomes,
// and notes of the program. Every surface renders it, and so knows of every event.
//
// A [Page] folds consecutive events into [Item]s; [Note] has the words for what is neither
// a message nor a call. Texts are as they came: a surface makes them harmless to show.
package view
