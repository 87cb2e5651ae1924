package snapshot

import (
	"os"
	"path"
	"runtime"
	"sync"
	"sync/atomic"
)

// Most of a directory is as it was at the snapshot before. A check finds out what: all
// processors look at what is known, and open nothing but directories. The walk that
// follows looks at the rest, one thing after the other.

// A checked is a directory that a check looks at.
type checked struct {
	name  string // relative to the directory that is followed
	item  *item  // nil: it is that directory
	node  *node
	above int // its index among those to be checked
}

// check finds out which directories are as they were, and notes that in them: see
// node.clean and node.whole. It does nothing where the times of directories cannot be
// trusted.
func (w *walk) check() {
	t := w.t
	t.walks++
	if t.top == nil {
		return
	}
	root, err := t.root.Open(".")
	if err != nil {
		return
	}
	defer root.Close()
	if !timed(root) {
		return
	}
	all := []checked{{".", nil, t.top, -1}}
	for i := 0; i < len(all); i++ {
		dir := all[i]
		for _, it := range dir.node.Items {
			if it.Dir != nil {
				all = append(all, checked{path.Join(dir.name, it.Name), it, it.Dir, i})
			}
		}
	}
	workers := min(runtime.GOMAXPROCS(0), 8, 1+t.top.Names/2000)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) || w.ctx.Err() != nil {
					return
				}
				if d := all[i]; d.isClean(root) {
					d.node.clean = t.walks
				}
			}
		})
	}
	wg.Wait()
	for _, d := range all {
		d.node.whole = d.node.clean
	}
	for i := len(all) - 1; i > 0; i-- {
		if d := all[i]; d.node.whole != t.walks {
			all[d.above].node.whole = 0
		}
	}
}

// isClean reports whether a directory has the names that it had, and none of them but
// directories has changed.
func (d *checked) isClean(root *os.File) bool {
	if d.node.Fresh || d.item != nil && d.item.Stamp != d.node.Stamp {
		return false
	}
	for _, it := range d.node.Items {
		if it.Dir == nil && !it.settled() {
			return false
		}
	}
	return d.stillThere(root)
}

// isClean reports whether a check has found that of the directory itself.
func (w *walk) isClean(n *node) bool { return n != nil && n.clean == w.t.walks }

// isWhole reports whether a check has found that nothing in the directory has changed,
// at any depth.
func (w *walk) isWhole(n *node) bool { return n != nil && n.whole == w.t.walks }

// leaveAll notes what is not kept in a directory that has not changed.
func (w *walk) leaveAll(name string, n *node) {
	if n.Left == 0 {
		return
	}
	for _, it := range n.Items {
		full := path.Join(name, it.Name)
		if it.Left != "" {
			w.leave(full, it.Left)
		}
		if it.Dir != nil {
			w.leaveAll(full, it.Dir)
		}
	}
}
