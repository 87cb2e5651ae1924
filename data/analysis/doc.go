// Package analysis has the tools with which an agent looks into data: charts
// with what is to be seen in them (data_visualization), a cleaned table first
// where one is needed (visualization_preparation), and a report that can be
// sent to somebody (data_report).
//
// Files are read and written through the workspace. Nothing is loaded from
// the network, and no program is run save the Chromium that makes a PDF.
package analysis
