// Package analysis has the tools with which an agent analyses data:
// data_visualization profiles tables, draws charts and finds insights;
// visualization_preparation runs code that cleans tables first; data_report
// turns Markdown with charts and tables into HTML and PDF.
//
// The tools read and write files of a workspace only. They load nothing from
// the network. The only program that they run, besides the code of
// visualization_preparation, is the Chromium that prints PDFs.
//
// Names of arguments, files and headings are those of OpenManus, so that
// prompts written for it work.
package analysis
