// Package docs holds the documentation: what openmanus docs shows.
package docs

import (
	"embed"
	"io/fs"
)

// Files returns the pages and the pictures that they show. README.md is the table of contents.
func Files() fs.FS { return files }

//go:embed *.md pictures/*.svg pictures/report.png pictures/approval.png
var files embed.FS
