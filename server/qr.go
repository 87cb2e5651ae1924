package server

import (
	"strings"

	"rsc.io/qr"
)

// quiet is the width of the light margin that readers of QR codes need, in modules.
const quiet = 4

// qrRows returns a text as a QR code with its margin: a string for each row, with 1 for a
// dark module and 0 for a light one.
func qrRows(text string) ([]string, error) {
	c, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, err
	}
	rows := make([]string, 0, c.Size+2*quiet)
	for y := -quiet; y < c.Size+quiet; y++ {
		var row strings.Builder
		for x := -quiet; x < c.Size+quiet; x++ {
			if x >= 0 && y >= 0 && x < c.Size && y < c.Size && c.Black(x, y) {
				row.WriteByte('1')
			} else {
				row.WriteByte('0')
			}
		}
		rows = append(rows, row.String())
	}
	return rows, nil
}

// QR returns a text as a QR code for a terminal, two rows of modules in a line. It sets
// both colours itself, so that it can be read on dark and on light terminals.
func QR(text string) (string, error) {
	rows, err := qrRows(text)
	if err != nil {
		return "", err
	}
	if len(rows)%2 == 1 {
		rows = append(rows, strings.Repeat("0", len(rows[0])))
	}
	var b strings.Builder
	for y := 0; y < len(rows); y += 2 {
		b.WriteString("\x1b[30;107m") // black on bright white
		for x := range rows[y] {
			b.WriteString(map[string]string{"00": " ", "10": "▀", "01": "▄", "11": "█"}[rows[y][x:x+1]+rows[y+1][x:x+1]])
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String(), nil
}
