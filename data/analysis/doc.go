// Package analysis has the tools with which an agent analyses data:
// data_visualization profiles tables, draws charts and finds insights;
// visualization_preparation runs code that cleans tables first; data_report
// turns Markdown with charts and tables into HTML and PDF.
//
// The tools read and write files of a workspace only. They load nothing from
// the network. The only program that they run, besides the code of
// visualization_preparation, is the Chromium that prints PDFs.
//
// # Files
//
// A chart is up to three files in the folder visualization, with one name made of
// its title: NAME.json, the specification, from which it can be drawn again;
// NAME.html, .png or .svg; and NAME.md with its insights, if there are any. No file
// is ever written over: a name that is taken gets "_new" at its end. Insights that
// are drawn later change the picture and the specification in place.
//
// json_path names a list of charts. The files in that list are not arguments of the
// call, so no rule has been asked about them: they are read in the view of
// [workspace.Unnamed], and named as sources of the result. The same holds for the
// pictures and tables of a report.
//
// # Names
//
// Names of arguments, files and headings are those of OpenManus, so that
// prompts written for it work.
package analysis
