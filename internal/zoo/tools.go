package zoo

import (
	"bytes"
	_ "embed" // tools.json
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"strings"
)

// A Tool is a schema as servers have it.
type Tool struct {
	Of     string            // what it is an example of
	Schema json.RawMessage   // as the server says it
	Good   []json.RawMessage // arguments that fit it
	Bad    []json.RawMessage // and that do not
	Says   string            // what a description says of it where it is rewritten
	Same   bool              // every provider takes it as it is
}

//go:embed testdata/tools.json
var tools []byte

// Tools returns schemas of real servers, shortened, and of each kind that a provider
// refuses.
func Tools() (all []Tool) {
	if err := json.Unmarshal(tools, &all); err != nil {
		panic("zoo: " + err.Error())
	}
	return all
}

// WidePicture returns a PNG of so many pixels in a row, in base64.
func WidePicture(side int) string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, 1))); err != nil {
		panic("zoo: " + err.Error())
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// repeated returns s so many times, with commas between.
func repeated(s string, times int) string {
	return strings.TrimSuffix(strings.Repeat(s+",", times), ",")
}
