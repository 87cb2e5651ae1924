package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// What is said between us and the first process of a container: frames of a
// letter, a length and that many bytes. It says that it is ready; we say which
// command to run; it says that it runs or why it does not; then input goes in,
// one piece at a time, each of which is acknowledged, and output comes out, and
// at last how the command ended. By then everything in the container is dead.
// If the input ends without a word, we are dead, and it dies.
const (
	frameReady   = 'r' // it is; or, with a text, why it cannot be
	frameCommand = 'c' // an insideCommand
	frameStarted = 's' // it runs
	frameRefused = 'n' // an insideRefusal
	frameInput   = 'i' // of the command; an empty one is its end
	frameAck     = 'a' // a piece of the input was taken
	frameOutput  = 'o'
	frameErrors  = 'e'
	frameClosed  = 'q' // the letter of an output that nobody wants any more
	frameEnded   = 'x' // an insideEnd
)

// maxFrame is how large what is in a frame may be.
const maxFrame = 8 << 20

// pieceSize is how large pieces of input and output are.
const pieceSize = 32 << 10

// An insideCommand is a command that is to run in a container.
type insideCommand struct {
	Args  []string
	Dir   string
	Env   []string // added to the image's
	Input bool     // it has one
	One   bool     // both outputs are one
}

// An insideRefusal says why a command did not start.
type insideRefusal struct {
	Text    string
	Program bool // there is no such program in PATH
	File    bool // there is no such file or directory
}

// An insideEnd says how a command ended.
type insideEnd struct {
	Code, Signal int
}

// A frameWriter writes frames. It may be used by several goroutines.
type frameWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frameWriter) send(kind byte, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	frame := append(make([]byte, 0, 5+len(data)), kind)
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(data)))
	_, err := f.w.Write(append(frame, data...))
	return err
}

func (f *frameWriter) sendJSON(kind byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.send(kind, data)
}

// readFrame reads a frame. What it returns is the caller's.
func readFrame(r io.Reader) (byte, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes", n)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return 0, nil, err
	}
	return head[0], data, nil
}

// An outputReader reads what the first process of a container writes, from the
// engine's stream, in which it comes in parts that say which output they are
// of. Its error output, which is empty unless something goes wrong, is kept.
type outputReader struct {
	r    io.Reader
	left int // of the part
	said []byte
}

// Read implements [io.Reader].
func (o *outputReader) Read(p []byte) (int, error) {
	for o.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(o.r, head[:]); err != nil {
			return 0, err
		}
		n := int(binary.BigEndian.Uint32(head[4:]))
		if head[0] != 2 {
			o.left = n
			continue
		}
		part := make([]byte, min(n, 4096))
		if _, err := io.ReadFull(o.r, part); err != nil {
			return 0, err
		}
		if len(o.said) < 4096 {
			o.said = append(o.said, part...)
		}
		if _, err := io.CopyN(io.Discard, o.r, int64(n-len(part))); err != nil {
			return 0, err
		}
	}
	n, err := o.r.Read(p[:min(len(p), o.left)])
	o.left -= n
	return n, err
}
