package tui

import (
	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/view"
)

// A page is what some consecutive events of a session show.
type page struct {
	*view.Page
	blocks []*block // of its items
}

// newPage returns an empty page whose first event is first.
func newPage(first int64) *page { return &page{Page: view.NewPage(first)} }

// apply adds a stored event, which follows the last one.
func (p *page) apply(ev openmanus.Event) {
	p.Apply(ev)
	for _, it := range p.Items[len(p.blocks):] {
		p.blocks = append(p.blocks, &block{Item: it})
	}
}

// add adds a block of the program's own.
func (p *page) add(b *block) {
	p.Items, p.blocks = append(p.Items, b.Item), append(p.blocks, b)
}

// A block draws an item, and keeps the lines until the Rev of the item changes.
type block struct {
	*view.Item
	open  bool // the person unfolded it
	drawn cache
}

// A cache is the lines of a block, and what they were made for.
type cache struct {
	lines []string
	rev   int
	width int
	how   drawing
}

// folds reports whether the block can be unfolded.
func (b *block) folds() bool {
	return b.Kind == view.Called || b.Kind == view.Thought || b.Kind == view.Agent
}
