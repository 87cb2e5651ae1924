package document

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// A document comes in whole pages, without a hole, and the last line says how to go on.
func TestPaging(t *testing.T) {
	pages := func(more bool, sizes ...int) *Document {
		d := &Document{More: more}
		for i, n := range sizes {
			d.Parts = append(d.Parts, Part{i + 1, fmt.Sprintf("page %d", i+1), strings.Repeat("é", n/2)})
		}
		return d
	}
	for _, tt := range []struct {
		name   string
		d      *Document
		o      Options
		offset int
		texts  []int // bytes of each part that is shown
		next   string
	}{
		{"all of it", pages(false, 400, 400), Options{}, 0, []int{400, 400}, ""},
		{"whole pages", pages(false, 400, 400, 400, 400), Options{}, 0, []int{400, 400}, `(pages 1-2 of 4; pages "3-" goes on)`},
		{"up to a page", pages(false, 400, 400, 400), Options{To: 3}, 0, []int{400, 400}, `(pages 1-2; pages "3" goes on)`},
		{"one page", pages(false, 700, 700), Options{}, 0, []int{700}, `(pages 1 of 2; pages "2-" goes on)`},
		{"a large page", pages(false, 5000, 10), Options{}, 0, []int{1000}, `(page 1: bytes 0 to 1000 of 5000; pages "1-", offset 1000 goes on)`},
		{"its middle", pages(false, 5000, 10), Options{To: 1}, 2001, []int{1000}, `(page 1: bytes 2000 to 3000 of 5000; pages "1", offset 3000 goes on)`},
		{"its end", pages(false, 5000, 10), Options{}, 4900, []int{100, 10}, ""},
		{"more than was read", pages(true, 400, 400, 300), Options{}, 0, []int{400, 400}, `(pages 1-2; pages "3-" goes on)`},
		{"more than was read of a page", pages(true, 500), Options{}, 0, []int{500}, `(page 1: bytes 0 to 500 of more than 500; pages "1-", offset 500 goes on)`},
		{"nothing", &Document{}, Options{}, 0, nil, ""},
	} {
		next, err := tt.d.page(tt.o, tt.offset, 1000)
		var texts []int
		for _, p := range tt.d.Parts {
			texts = append(texts, len(p.Text))
		}
		if err != nil || next != tt.next || fmt.Sprint(texts) != fmt.Sprint(tt.texts) {
			t.Errorf("%s: %v %s %v, want %v %s", tt.name, texts, next, err, tt.texts, tt.next)
		}
	}
	if _, err := pages(false, 10).page(Options{}, 11, 1000); err == nil {
		t.Error("an offset beyond the end is accepted")
	}
}

// files is a workspace of which only the files are read.
type files struct {
	workspace.Workspace
	fs fs.FS
}

func (f files) FS() fs.FS   { return f.fs }
func (f files) Dir() string { return "/work" }

// A model that does what the last line says reads every line once.
func TestReadingOn(t *testing.T) {
	var text strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	tool := NewTool(files{fs: fstest.MapFS{"a.txt": {Data: []byte(text.String())}}})
	var got strings.Builder
	input := `{"path":"a.txt"}`
	for range 100 {
		res, err := tool.Run(t.Context(), openmanus.Call{Call: llm.Call{Input: input}})
		if err != nil || !res.Reading || len(res.Parts.Text()) > 41_000 {
			t.Fatalf("%s: %d bytes, %v", input, len(res.Parts.Text()), err)
		}
		_, body, _ := strings.Cut(res.Parts.Text(), "--- text ---\n")
		body, next, more := strings.Cut(body, "\n\n(text: ")
		got.WriteString(strings.TrimRight(body, "\n") + "\n")
		if !more {
			break
		}
		offset := 0
		_, next, _ = strings.Cut(next, "offset ")
		if _, err := fmt.Sscanf(next, "%d goes on)", &offset); err != nil {
			t.Fatalf("%q: %v", next, err)
		}
		input = fmt.Sprintf(`{"path":"a.txt","offset":%d}`, offset)
	}
	if got.String() != text.String() {
		t.Errorf("%d of %d bytes were read", got.Len(), text.Len())
	}
}
