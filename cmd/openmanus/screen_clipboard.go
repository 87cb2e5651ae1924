package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// clipboardPicture returns the picture that is in the clipboard, as PNG, by the program
// that the system has for it.
func (t *terminal) clipboardPicture(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	found := false
	for _, command := range [][]string{
		{"wl-paste", "--no-newline", "--type", "image/png"},
		{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"},
		{"osascript", "-e", "get the clipboard as «class PNGf»"},
	} {
		cmd := hostexec.Outside(t.dir).Command(ctx, command[0], command[1:]...)
		if cmd.Err != nil {
			continue
		}
		found = true
		cmd.WaitDelay = time.Second
		data, err := cmd.Output()
		if err == nil && len(data) > 0 {
			return bareData(data), nil
		}
	}
	if !found {
		return nil, errors.New("the clipboard cannot be read: install wl-clipboard or xclip, or give the path of the picture as @PATH")
	}
	return nil, errors.New("the clipboard has no picture")
}

// bareData returns what AppleScript prints as «data PNGf…», in hexadecimal digits, as the
// bytes that it stands for, and anything else as it is.
func bareData(data []byte) []byte {
	digits, isData := bytes.CutPrefix(bytes.TrimSpace(data), []byte("«data PNGf"))
	digits, closed := bytes.CutSuffix(digits, []byte("»"))
	plain := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(plain, digits); err != nil || !isData || !closed {
		return data
	}
	return plain
}
