package server

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// minPacked is the fewest bytes of a response that is worth compressing: less fits
// into one packet of the network anyway.
const minPacked = 1400

// compressed returns a handler whose JSON, HTML, scripts and styles are compressed for
// clients that can read that. Files of workspaces and blobs are not: they are asked for in
// ranges. Event streams are not either, see newStream: what waits in a compressor would
// come late. Responses contain no text of other sites beside secrets, so their lengths
// tell an attacker nothing. It is the outermost handler, since what it wraps must be able
// to flush.
func compressed(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minPacked), gzhttp.ContentTypeFilter(packs), gzhttp.PreferZstd(false))
	if err != nil {
		panic("server: " + err.Error()) // the options are constants
	}
	return wrap(next)
}

// packs reports whether responses of a media type are compressed.
func packs(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	switch kind {
	case "application/json", "application/problem+json", "application/openapi+json", "application/jsonl",
		"application/manifest+json", "text/html", "text/css", "text/javascript", "image/svg+xml":
		return true
	}
	return false
}
