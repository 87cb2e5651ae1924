package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/llm"
)

// Message makes a message of a user of a prompt and files: those in attach, and
// those that the prompt names as @path. Names are relative to dir. Text files
// are read, and so are images; of other files the message says where they are.
func Message(dir, prompt string, attach []string) (openmanus.UserSaid, error) {
	m := act.Message("", prompt)
	files, _ := mentioned(prompt, dir)
	for _, name := range append(attach, files...) {
		p, err := attachment(dir, name)
		if err != nil {
			return m, mistake(fmt.Errorf("cannot attach %s: %w", name, err))
		}
		m.Message.Parts = append(m.Message.Parts, p)
	}
	return m, nil
}

// NotAttached returns a line for people about the words @path of a prompt that look like
// paths and name no file, so that nothing is attached for them, or "".
func NotAttached(dir, prompt string) string {
	_, missing := mentioned(prompt, dir)
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("nothing is attached for @%s: there is no such file in %s", strings.Join(missing, ", @"), dir)
}

// mentioned returns the files that the prompt names as @path, without the
// punctuation that may follow a name. A word that is not the path of an existing
// file is left alone: it may be a name or an address. It is missing if it ends as files
// do, or names a directory that is there.
func mentioned(prompt, dir string) (names, missing []string) {
words:
	for _, word := range strings.Fields(prompt) {
		name, ok := strings.CutPrefix(word, "@")
		if !ok {
			continue
		}
		for _, n := range []string{name, strings.TrimRight(name, ".,;:!?)\"'")} {
			if info, err := os.Stat(from(dir, n)); n != "" && err == nil && info.Mode().IsRegular() {
				names = append(names, n)
				continue words
			}
		}
		name = strings.TrimRight(name, ".,;:!?)\"'")
		full := from(dir, name)
		above, err := os.Stat(filepath.Dir(full))
		if info, at := os.Stat(full); at == nil && info.IsDir() {
			continue // a directory is named, not attached
		}
		if fileEnd.MatchString(name) || strings.Contains(name, "/") && err == nil && above.IsDir() {
			missing = append(missing, name)
		}
	}
	return names, missing
}

// from returns a path from dir on, unless it is absolute.
func from(dir, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(dir, p)
}

// fileEnd is how a word ends that names a file.
var fileEnd = regexp.MustCompile(`(?i)[^./]\.[a-z][a-z0-9]{0,5}$`)

// openNamed opens a file that the person names, from dir on. An agent may have put a link
// in its place: so a name below dir leads to no file outside of it.
func openNamed(dir, path string) (*os.File, fs.FileInfo, error) {
	top, real := hostexec.RealPath(dir), hostexec.RealPath(path)
	rel, inside := relative(top, real)
	switch {
	case inside:
		real = rel
	case throughBelow(top, path):
		return nil, nil, fmt.Errorf("it is a link to %s, which is outside of %s: name that file itself if you mean it", real, dir)
	default:
		top, real = filepath.Dir(real), filepath.Base(real)
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, nil, bare(err)
	}
	defer root.Close()
	f, info, err := regular.Open(root, real)
	if errors.Is(err, regular.Err) {
		return nil, nil, errors.New("it is not a file")
	}
	return f, info, bare(err)
}

// throughBelow reports whether a path leads through the directory top, or below it.
func throughBelow(top, path string) bool {
	for up := filepath.Dir(path); ; up = filepath.Dir(up) {
		if _, below := relative(top, hostexec.RealPath(up)); below {
			return true
		}
		if filepath.Dir(up) == up {
			return false
		}
	}
}

// relative returns the path from dir on, if it is below dir.
func relative(dir, path string) (rel string, below bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// bare returns the error without the operation and the path.
func bare(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// attachment reads a file for the model: text as text, an image as an image.
// For any other file it says where it is.
func attachment(dir, name string) (llm.Part, error) {
	path := from(dir, name)
	f, info, err := openNamed(dir, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	kind := http.DetectContentType(head[:n])
	if byName := mime.TypeByExtension(filepath.Ext(path)); !strings.HasPrefix(kind, "text/") && byName != "" {
		kind = byName
	}
	rest := io.MultiReader(strings.NewReader(string(head[:n])), f)
	switch {
	case strings.HasPrefix(kind, "image/"):
		if info.Size() > act.MaxImage {
			return nil, fmt.Errorf("the image has %d bytes, more than the %d that are sent", info.Size(), act.MaxImage)
		}
		data, err := io.ReadAll(rest)
		return llm.Blob{MIME: kind, Name: name, Data: data}, err
	case strings.HasPrefix(http.DetectContentType(head[:n]), "text/plain; charset=utf-16") && info.Size() > act.MaxText:
		// a part of it would have no mark: it says where the whole is
	case strings.HasPrefix(http.DetectContentType(head[:n]), "text/"):
		data, err := io.ReadAll(io.LimitReader(rest, act.MaxText+1))
		if err != nil || len(data) <= act.MaxText {
			return act.TextOf(name, string(act.Text(data))), err
		}
		tail := make([]byte, act.MaxText/2)
		if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && err != io.EOF {
			return nil, err
		}
		return act.TextOf(name, act.Shortened(data[:act.MaxText/2], tail, info.Size(), "the whole is in "+path)), nil
	}
	return llm.Text{Text: fmt.Sprintf("\n\n[attached: %s, %s, %d bytes, at %s]", name, kind, info.Size(), path)}, nil
}
