//go:build unix

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/store"
)

// pictureFiles are pictures of each kind that the page shows, by name.
func pictureFiles(t *testing.T) map[string][]byte {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, 40, 30), color.Palette{color.White, color.RGBA{0, 120, 90, 255}})
	for x := range 40 {
		img.SetColorIndex(x, x%30, 1)
	}
	var p, j, g bytes.Buffer
	if err := errors.Join(png.Encode(&p, img), jpeg.Encode(&j, img, nil), gif.Encode(&g, img, nil)); err != nil {
		t.Fatal(err)
	}
	webp, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30" fill="#078"/></svg>`)
	return map[string][]byte{
		"a.png": p.Bytes(), "b.jpg": j.Bytes(), "c.jpeg": j.Bytes(), "d.gif": g.Bytes(), "e.webp": webp, "f.svg": svg,
		"plots & tables/in März #1 100%.png": p.Bytes(),
	}
}

// TestPicturesPage opens each picture, chart and report that a session made, in its present
// and in an earlier state. The browser runs testdata/pictures.mjs.
func TestPicturesPage(t *testing.T) {
	var files strings.Builder
	for name, data := range pictureFiles(t) {
		fmt.Fprintf(&files, "mkdir -p '%s' && echo %s | base64 -d >'%[3]s' && ", filepath.Dir(name), base64.StdEncoding.EncodeToString(data), name)
	}
	files.WriteString(`printf 'month,revenue,cost\nJanuary,20,11\nFebruary,35,20\nMarch,30,9\n' >sales.csv && printf '# Seen\n\n![a](a.png) ![f](f.svg)\n' >seen.md`)
	call := func(tool string, input map[string]any) string {
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		return "@call " + tool + " " + string(data) + "\n"
	}
	visit(t, "pictures.mjs", "-- reply --\n"+call("bash", map[string]any{"command": files.String()})+
		"-- reply --\n"+call("data_visualization", map[string]any{"data": "sales.csv", "title": "Revenue", "chart": "bar", "x": "month", "y": []string{"revenue"}})+
		call("data_visualization", map[string]any{"data": "sales.csv", "title": "Cost", "chart": "line", "x": "month", "y": []string{"cost"}})+
		"-- reply --\n"+call("data_report", map[string]any{"markdown": "# Best months\n\nFebruary was best.\n\n![Revenue](visualization/Revenue.html)\n", "output": "report", "formats": []string{"html"}})+
		"-- reply --\nAll is drawn.\n")
}

// TestManyPage is a person with many sessions, of which the oldest wait for them:
// testdata/many.mjs.
func TestManyPage(t *testing.T) {
	dir := write(t, "s", "-- any --\nDone.\n")
	db, err := store.Open(filepath.Join(dir, ".home", ".local", "share", "openmanus"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const sessions, asking, running = 260, 2, 1
	now := time.Now().UTC().Truncate(time.Microsecond)
	for i := range sessions { // the oldest first; some at the same moment
		at := now.Add(-time.Duration(sessions-i/2*2) * time.Hour)
		title := fmt.Sprintf("Task %03d", i)
		call := llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c0-1", Name: "bash", Input: `{"command":"ls"}`}}}
		bodies := []openmanus.Body{
			openmanus.Opened{Flow: "manus", Owner: "local", Version: 2},
			openmanus.Configured{Spec: openmanus.Spec{Agent: "manus", Model: "openai/gpt-5", Approve: "ask", Workspace: filepath.Join(dir, "w")},
				Tools: []openmanus.ToolSpec{{ToolSpec: llm.ToolSpec{Name: "bash", Input: json.RawMessage(`{}`)}}}},
			openmanus.UserSaid{ID: "u", Message: llm.Say(llm.User, title)},
		}
		switch {
		case i < asking:
			bodies = append(bodies, openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: call}, openmanus.Asked{Call: "c0-1", Kind: openmanus.AskRuling, Question: "May bash run?"})
		case i < asking+running: // it is too old for a driver to take it; it counts as running
			bodies = append(bodies, openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: call}, openmanus.Ruled{Call: "c0-1", Allow: true, By: "gate"})
		case i == 40:
			bodies = append(bodies, openmanus.Ended{Re: 3, Status: openmanus.Failed, Error: "The scanner was off."})
		default:
			bodies = append(bodies, openmanus.ModelSaid{Re: 3, Stop: llm.End, Message: llm.Say(llm.Assistant, "Done.")}, openmanus.Ended{Turn: 1, Re: 4, Status: openmanus.Finished})
		}
		var events []openmanus.Event
		for n, b := range bodies {
			events = append(events, openmanus.Event{Seq: int64(n + 1), Time: at, Body: b})
		}
		if err := db.Restore(t.Context(), fmt.Sprintf("many%03d", i), events); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	visitWith(t, "many.mjs", dir, serveTo(t, dir, "127.0.0.1:0", os.Stderr))
}
