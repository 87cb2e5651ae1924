// Package view is what a session shows people: messages, calls and their outcomes, notes of
// the program, and how the session stands. Every surface renders it, and so knows of every
// event: package viewtest holds it to that.
//
// A [Page] folds consecutive events into [Item]s, and says what each event changed; [Note] has
// the words for what is neither a message nor a call. A [Session] is what stands beside the
// conversation. Texts are as they came: a surface makes them harmless to show.
package view
