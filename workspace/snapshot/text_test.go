//go:build unix

package snapshot

import (
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
)

func sampleTree(parts int) Tree {
	t := Tree{Files: 3, Bytes: 4000, Root: Object{Sum: sumOf([]byte("list"))}}
	for i := range parts {
		p := Part{Pack: openmanus.RefOf([]byte{byte(i)}), Frame: i, From: 7 * i, Size: 100 + i}
		t.Root.Parts = append(t.Root.Parts, p)
		t.Root.Size += int64(p.Size)
	}
	return t
}

func TestTreeText(t *testing.T) {
	for _, tree := range []Tree{{}, sampleTree(1), sampleTree(3)} {
		back, err := ParseTree(tree.String())
		if err != nil || back.String() != tree.String() || back.Root.Size != tree.Root.Size || back.Files != tree.Files || back.IsZero() != tree.IsZero() {
			t.Errorf("%q is read as %+v, %v", tree, back, err)
		}
	}
	good := sampleTree(1).String()
	for _, bad := range []string{
		"t1", "t2" + good[2:], good + " ", good + " 1", good[:len(good)-3] + "-1", good[:len(good)-3] + "0", " " + good,
		strings.Replace(good, "sha256:", "sha512:", 1), strings.ToUpper(good), strings.Replace(good, " 3 ", " 03 ", 1),
		good[:len(good)-3] + "99999999", strings.Join(strings.Fields(good)[:4], " "),
	} {
		if tree, err := ParseTree(bad); err == nil || !tree.IsZero() {
			t.Errorf("%q is read as %+v", bad, tree)
		}
	}
}

// A text is read or refused; what is read is written as the same text.
func FuzzTreeText(f *testing.F) {
	f.Add("")
	f.Add(sampleTree(1).String())
	f.Add(sampleTree(3).String())
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := ParseTree(text)
		if err == nil && tree.String() != text {
			t.Fatalf("%q is written as %q", text, tree)
		}
	})
}
