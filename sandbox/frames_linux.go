package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// The protocol between this process and the first process of a container, over
// the container's standard input and output. A frame is a letter, the length of
// its data as four bytes, big-endian, and the data.
//
// The container says that it is ready; we send one command; it says that the
// command runs, or why it does not. Then input goes in, one piece at a time,
// each of which is acknowledged, and output comes out. At last the container
// says how the command ended; everything in it is dead by then. If its standard
// input ends before that, this process is dead, and the container ends too.
const (
	frameReady   = 'r' // ready for a command; or with a text, why not
	frameCommand = 'c' // an insideCommand
	frameStarted = 's' // the command runs
	frameRefused = 'n' // an insideRefusal
	frameInput   = 'i' // input of the command; an empty piece is the end
	frameAck     = 'a' // a piece of input was read
	frameOutput  = 'o'
	frameErrors  = 'e'
	frameClosed  = 'q' // the letter of an output that has no reader any more
	frameEnded   = 'x' // an insideEnd
)

// maxFrame is the largest length of a frame's data.
const maxFrame = 8 << 20

// pieceSize is the largest piece of input or output.
const pieceSize = 32 << 10

// An insideCommand is a command to run in a container. Paths are those of the
// container.
type insideCommand struct {
	Args  []string
	Dir   string
	Env   []string // added to the image's
	Input bool     // the command has standard input
	One   bool     // standard output and error are one
}

// An insideRefusal says why a command did not start.
type insideRefusal struct {
	Text    string
	Program bool // there is no such program in PATH
	File    bool // there is no such file or directory
}

// An insideEnd says how a command ended: its exit status, and the signal if one
// ended it.
type insideEnd struct {
	Code, Signal int
}

// A frameWriter writes frames. Several goroutines may use it.
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

// readFrame reads a frame: its kind and its data, which the caller owns. A frame that is
// too large is an error, because the other side is not trusted.
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

// An outputReader reads the standard output of a container from the stream of
// the engine, which carries both outputs in parts: eight bytes with the number
// of the output and the length, and the data. The beginning of the error output
// is kept: it is empty unless something goes wrong.
type outputReader struct {
	r    io.Reader
	left int // bytes of the current part that have not been read
	said []byte
}

// Read implements [io.Reader]. It returns the standard output out of the engine's frames,
// and keeps the beginning of the standard error for the message of a failure.
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
