package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

func said(id, text string) openmanus.UserSaid {
	return openmanus.UserSaid{ID: id, Message: llm.Say(llm.User, text)}
}

// Follow yields events as they are appended.
func ExampleMemory() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	j := new(journal.Memory)
	_, err := j.Append(ctx, "s", openmanus.Opened{Flow: "manus"}, said("1", "Hello."))
	fmt.Println(err)
	for ev, err := range j.Follow(ctx, "s", 0) {
		fmt.Println(ev.Seq, ev.Body.Key(), err)
		switch ev.Seq {
		case 2:
			go j.Append(ctx, "s", said("2", "More."))
		case 3:
			return
		}
	}
	// Output:
	// <nil>
	// 1 open <nil>
	// 2 user/1 <nil>
	// 3 user/2 <nil>
}

// A journal redacts secrets in what is appended.
func ExampleSecrets() {
	s := journal.NewSecrets(map[string]string{"API_KEY": "k-0123456789"})
	fmt.Println(s.Replace("curl -H 'Authorization: k-0123456789'"))

	ctx, j := context.Background(), &journal.Memory{Secrets: s}
	j.Append(ctx, "s", openmanus.Opened{Flow: "manus"}, said("1", "My key is k-0123456789."))
	for ev := range j.Events(ctx, "s", 1) {
		fmt.Println(ev.Body.(openmanus.UserSaid).Message.Text())
	}
	// Output:
	// curl -H 'Authorization: [[secret:API_KEY]]'
	// My key is [[secret:API_KEY]].
}

// A redactor finds secrets that are split between pieces.
func ExampleRedactor() {
	r := journal.NewSecrets(map[string]string{"API_KEY": "k-0123456789"}).Redactor()
	for _, piece := range []string{"The key is k-01", "234567", "89, he said."} {
		fmt.Printf("%q\n", r.Next(piece))
	}
	fmt.Printf("%q\n", r.Rest())
	// Output:
	// "The key is "
	// ""
	// "[[secret:API_KEY]], he said."
	// ""
}

// An exported session is a text file that can be imported elsewhere.
func ExampleExport() {
	ctx, j := context.Background(), new(journal.Memory)
	j.Append(ctx, "s", openmanus.Opened{Flow: "manus", Version: 1}, said("1", "Hello."))
	var file bytes.Buffer
	fmt.Println(journal.Export(ctx, j, j, "s", &file))
	fmt.Println(strings.Count(file.String(), "\n"), "lines")

	other := new(journal.Memory)
	fmt.Println(journal.Import(ctx, other, other, "copy", &file))
	s, err := openmanus.Load(ctx, other, "copy")
	fmt.Println(s.Requests, s.Opened.From.Session, err)
	// Output:
	// <nil>
	// 4 lines
	// copy <nil>
	// [Hello.] s <nil>
}

// A fork has the events up to a point, and ends as interrupted.
func ExampleFork() {
	ctx, j := context.Background(), new(journal.Memory)
	j.Append(ctx, "s", openmanus.Opened{Flow: "manus"}, said("1", "Hello."), said("2", "And goodbye."))
	fmt.Println(journal.Fork(ctx, j, "s", 2, "fork"))
	for ev := range j.Events(ctx, "fork", 0) {
		fmt.Println(ev.Seq, ev.Body.Key())
	}
	// Output:
	// <nil>
	// 1 open
	// 2 user/1
	// 3 interrupt/fork-fork
}

// A codec turns a body into what a journal stores, and back.
func ExampleCodec() {
	ctx, c := context.Background(), journal.Codec{}
	stored, err := c.Encode(ctx, openmanus.Titled{ID: "1", Title: "Hello"})
	fmt.Println(stored.Type, stored.Key, string(stored.Body), err)
	line, err := c.Line(ctx, 7, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), stored)
	fmt.Println(string(line), err)
	// Output:
	// titled title/1 {"id":"1","title":"Hello"} <nil>
	// {"seq":7,"time":"2026-01-02T03:04:05Z","type":"titled","key":"title/1","body":{"id":"1","title":"Hello"}} <nil>
}
