// Gen writes the vocabularies of package bpe, from the library that its tests
// compare it with.
package main

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/tiktoken-go/tokenizer/codec"
)

func main() {
	if err := errors.Join(write(codec.NewO200kBase()), write(codec.NewCl100kBase())); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes c, deflated: how many tokens there are, the length of each, and
// their texts in the order of their ranks.
func write(c *codec.Codec) error {
	var lengths, texts bytes.Buffer
	for rank := uint(0); ; rank++ {
		token, err := c.Decode([]uint{rank})
		if err != nil { // behind the last one, there are only special ones
			break
		}
		if len(token) > 255 {
			return fmt.Errorf("the token %d of %s is too long", rank, c.GetName())
		}
		lengths.WriteByte(byte(len(token)))
		texts.WriteString(token)
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(binary.LittleEndian.AppendUint32(nil, uint32(lengths.Len())))
	_, lengthsErr := w.Write(lengths.Bytes())
	_, textsErr := w.Write(texts.Bytes())
	if err := errors.Join(err, lengthsErr, textsErr, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(c.GetName()+".bin", out.Bytes(), 0o644)
}
