package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/chart"
)

// dataRows is how large the table is that is drawn and looked at.
const dataRows = 100_000

// data measures what a person waits for who asks for a chart: from a CSV file
// of 100,000 rows to a picture, and to what is to be seen in it.
func (b *bench) data(ctx context.Context) error {
	name := filepath.Join(b.dir, "data.csv")
	if err := os.WriteFile(name, dataCSV(), 0o644); err != nil {
		return err
	}
	t := table{head: []string{"what", "runs", "median, ms", "worst, ms", "target", "met", "CPU, median ms"}}
	for _, c := range []struct {
		what   string
		req    chart.Request
		draw   bool
		target time.Duration
	}{
		{"CSV to PNG, line of 100,000 points", chart.Request{Kind: "line", X: "time", Y: []string{"load"}}, true, 1500 * time.Millisecond},
		{"CSV to PNG, cloud of 100,000 points", chart.Request{Kind: "scatter", X: "load", Y: []string{"price"}}, true, 1500 * time.Millisecond},
		{"CSV to PNG, bars of sums", chart.Request{Kind: "bar", X: "region", Y: []string{"load"}}, true, 1500 * time.Millisecond},
		{"CSV to insights, along time", chart.Request{Kind: "line", X: "time", Y: []string{"load"}}, false, time.Second},
		{"CSV to insights, two variables", chart.Request{Kind: "scatter", X: "load", Y: []string{"price"}}, false, time.Second},
	} {
		var times, busy []float64
		for range b.pairs {
			runtime.GC()
			start, cpu := time.Now(), cpuTime()
			if err := drawOnce(ctx, b.dir, c.req, c.draw); err != nil {
				return err
			}
			times = append(times, float64(time.Since(start).Microseconds())/1000)
			busy = append(busy, float64((cpuTime()-cpu).Microseconds())/1000)
		}
		slices.Sort(times)
		slices.Sort(busy)
		mid := times[len(times)/2]
		met := "yes"
		if mid > float64(c.target.Milliseconds()) {
			met = "no"
		}
		t.row(c.what, len(times), fmt.Sprintf("%.0f", mid), fmt.Sprintf("%.0f", times[len(times)-1]), fmt.Sprintf("<= %d ms", c.target.Milliseconds()), met, fmt.Sprintf("%.0f", busy[len(busy)/2]))
	}
	t.print(b.out, "Data: from a CSV of 100,000 rows and four columns")
	return nil
}

// drawOnce does all of it anew, the fonts too.
func drawOnce(ctx context.Context, dir string, req chart.Request, draw bool) error {
	tab, err := data.Read(ctx, os.DirFS(dir), "data.csv", data.Options{})
	if err != nil {
		return err
	}
	f, err := chart.Build(tab, req)
	if err != nil || !draw {
		return err
	}
	var fonts chart.Fonts
	_, err = f.PNG(&fonts)
	return err
}

func dataCSV() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("time,load,price,region\n")
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range dataRows {
		load := 100 + 10*math.Sin(float64(i)/230) + r.NormFloat64()
		fmt.Fprintf(&b, "%s,%.3f,%.3f,%s\n", at.Add(time.Duration(i)*time.Minute).Format("2006-01-02 15:04:05"), load, 0.4*load+3*r.NormFloat64(), []string{"North", "South", "East", "West"}[r.IntN(4)])
	}
	return []byte(b.String())
}
