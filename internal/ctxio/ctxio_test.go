package ctxio

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReaderFailsOnceItsContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := NewReader(ctx, strings.NewReader("abcdef"))
	b := make([]byte, 3)
	if n, err := r.Read(b); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	cancel()
	if n, err := r.Read(b); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
	rest, err := io.ReadAll(NewReader(context.Background(), strings.NewReader("all of it")))
	if string(rest) != "all of it" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}
