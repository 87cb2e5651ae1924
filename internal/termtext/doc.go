// Package termtext formats text for a terminal: colours, Markdown, and lines that fit
// its width.
//
// What it returns has no control characters but those of its own [Style], whatever it
// was given.
package termtext
