// Package provenance finds which parts of a text come from which other texts,
// also when they have been encoded or disguised on the way.
//
// An [Index] is given the texts that are known, each with the number of its
// source. [Index.Find] is then asked about a text, such as an argument of a
// tool call, and returns a [Match] for each part that stands in a known text:
//
//	var x provenance.Index
//	x.Add(1, page)   // what a web page said
//	x.Add(2, secret) // what a private file holds
//	for _, m := range x.Find(argument) {
//		fmt.Println(argument[m.From:m.To], "comes from", m.Sources, m.As)
//	}
//
// # What is compared
//
// Texts are compared in a canonical form: letters and digits alone, without
// case, accents, white space, punctuation and invisible characters; letters
// that look alike are one letter. So "E.V.I.L dot  example" written with
// full-width or Cyrillic letters is no disguise. An argument is also compared
// after undoing each encoding in the table of encodings, up to three of them
// one inside the other, and a known text that holds an encoded text is known
// by what it decodes to as well.
//
// # What is found
//
// Two kinds of things are found. A run is a sequence of 8 canonical characters
// or more, wherever it begins. A token is a word or a name of fewer characters
// ("13", "Alice", "evil.io"), which must stand as a word or a name in the known
// text.
//
// What is found must also be telling. Any two texts have words in common, so
// each match has a weight in bits, which is small for common words and large
// for names, numbers and long passages; see [Match.Bits]. A match is reported
// from [Telling] bits on, or if it is the whole text that was asked about.
//
// # What is not found
//
// Words that were put into other words: a translation, a summary, a sum. Text
// of punctuation alone. Encryption. The meaning of a number that was written
// as a word.
package provenance
