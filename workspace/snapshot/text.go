package snapshot

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// treeFormat begins the text of every tree, and names its format.
const treeFormat = "t1"

// maxParts bounds the parts of a root list in a text: 4 GiB of names.
const maxParts = 1024

var errTree = errors.New("it is not the text of a tree")

// MarshalText returns t as one short line of printable ASCII, which names the blob
// that its root is in as "sha256:…". The text of the zero Tree is "". Two texts may
// differ although the trees have the same content: compare Root.Sum.
//
// The text is "t1", the sum, files and bytes, then pack, frame, first byte and size of
// each part of the root, all separated by spaces.
func (t Tree) MarshalText() ([]byte, error) {
	if t.IsZero() {
		return []byte{}, nil
	}
	b := append([]byte(treeFormat), ' ')
	sum, _ := t.Root.Sum.MarshalText()
	b = append(b, sum...)
	for _, n := range []int64{int64(t.Files), t.Bytes} {
		b = strconv.AppendInt(append(b, ' '), n, 10)
	}
	for _, p := range t.Root.Parts {
		b = append(append(b, ' '), p.Pack...)
		for _, n := range []int{p.Frame, p.From, p.Size} {
			b = strconv.AppendInt(append(b, ' '), int64(n), 10)
		}
	}
	return b, nil
}

// String returns the text of [Tree.MarshalText].
func (t Tree) String() string {
	b, _ := t.MarshalText()
	return string(b)
}

// UnmarshalText reads what MarshalText returned, and nothing else.
func (t *Tree) UnmarshalText(text []byte) error {
	*t = Tree{}
	if len(text) == 0 {
		return nil
	}
	fields := strings.Split(string(text), " ")
	if len(fields) < 8 || len(fields)%4 != 0 || len(fields) > 4*(maxParts+1) || fields[0] != treeFormat {
		return fmt.Errorf("%w: %.80q", errTree, text)
	}
	var read Tree
	ok := read.Root.Sum.UnmarshalText([]byte(fields[1])) == nil
	number := func(field string) int64 {
		n, err := strconv.ParseInt(field, 10, 64)
		ok = ok && err == nil && n >= 0
		return n
	}
	read.Files, read.Bytes = int(number(fields[2])), number(fields[3])
	for at := 4; at < len(fields); at += 4 {
		p := Part{
			Pack:  openmanus.Ref(fields[at]),
			Frame: int(number(fields[at+1])), From: int(number(fields[at+2])), Size: int(number(fields[at+3])),
		}
		var sum Sum
		hash, prefixed := strings.CutPrefix(fields[at], "sha256:")
		ok = ok && prefixed && sum.UnmarshalText([]byte(hash)) == nil && p.Size > 0 && p.Size <= maxFrame
		read.Root.Parts = append(read.Root.Parts, p)
		read.Root.Size += int64(p.Size)
	}
	if !ok || read.String() != string(text) {
		return fmt.Errorf("%w: %.80q", errTree, text)
	}
	*t = read
	return nil
}

// ParseTree returns the tree with this text.
func ParseTree(text string) (t Tree, err error) {
	err = t.UnmarshalText([]byte(text))
	return t, err
}
