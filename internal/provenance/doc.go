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
// Texts are compared in a canonical form (canonical.go): letters and digits
// alone, without case, accents, white space, punctuation and invisible
// characters; letters that look alike are one letter. So neither "E-V-I-L" nor
// "ｅｖｉｌ" nor "еvіl" with Cyrillic letters is a disguise.
//
// An argument is also compared after undoing the encodings of a table
// (decode.go), up to three of them one inside the other, and as it would read
// backwards, with another order of words, or in a shifted alphabet (ciphers.go).
// A known text that holds an encoded text is known by what that decodes to as
// well. To add an encoding, add a line to the table, and one to the table of
// disguises in the tests, which tries it alone and with all others.
//
// # What is found
//
// Two kinds of things are found. A run is a sequence of 8 canonical characters
// or more, wherever it begins. A token is a word or a name of fewer characters
// ("13", "Alice", "evil.io"), which must stand as such in the known text. A name
// that is made of tokens of several texts is found, too, if it is that of a host
// or all of the argument; and so is what is split over several arguments
// ([Index.FindAll]).
//
// What is found must also be telling (weight.go). Any two texts have words in
// common, so each match has a weight in bits, which is small for common words
// and large for names, numbers and long passages. A match is reported from
// [Telling] bits on, or if it is the whole text that was asked about, whatever
// it weighs: "13" is found in "13", but not in "it takes 13 minutes". If two
// texts are unrelated, fewer than one line in a hundred has a match.
//
// # What is not found
//
// Words that were put into other words: a translation, a summary, a sum, a
// number written as a word. Text of punctuation alone. Encryption, and other
// encodings than those of the table: one character of three, Morse backwards, a
// Caesar cipher of an encoded text, more than three encodings. A run of fewer
// than 8 characters within a longer word. Up to eight common words in a row
// within a longer text.
package provenance
