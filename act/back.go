package act

import "github.com/openmanus-go/openmanus"

// A Rewind says how far a session goes back, and with what.
type Rewind struct {
	// To is the last event that still stands. With Talk it may become an earlier
	// one: see [openmanus.State.Moment].
	To   int64
	Last bool // in place of To: before the last message of the person
	Redo bool // in place of To, Files and Talk: takes back the last time that the session went back

	Files bool   // files are put back
	Talk  bool   // what was said leaves the conversation
	By    string // who does it; "": the user of this process
	Plan  bool   // only say what it would do
}

// A Rewinding is what going back does.
type Rewinding struct {
	To         int64                  `json:"to" doc:"The last event that still stands."`
	Files      bool                   `json:"files" doc:"Files are put back."`
	Talk       bool                   `json:"talk" doc:"The conversation goes back."`
	Redo       string                 `json:"redo,omitempty" doc:"The event rewound that is taken back."`
	Messages   []string               `json:"messages" doc:"The messages of the user that leave the conversation."`
	Changes    []openmanus.FileChange `json:"changes" doc:"The files that change, as changes of what there is now."`
	Kept       []openmanus.Left       `json:"kept" doc:"The files that calls changed and that stay as they are, and why."`
	Unsure     []string               `json:"unsure" doc:"Those of changes that others may have changed."`
	Outside    []OutsideCall          `json:"outside" doc:"Calls whose effects may not come back."`
	Unfollowed string                 `json:"unfollowed,omitempty" doc:"Why files may have changed that are not in the plan."`
	Running    bool                   `json:"running,omitempty" doc:"The session is interrupted first."`

	Total   int  `json:"-"` // how many files change, of which Changes has at most 1,000; 0: all are there
	Nothing bool `json:"-"` // nothing changes
}

// An OutsideCall is a call that could reach more than the workspace.
type OutsideCall struct {
	Session string          `json:"session"`
	Seq     int64           `json:"seq"`
	Call    string          `json:"call"`
	Tool    string          `json:"tool"`
	Input   string          `json:"input"`
	Reach   openmanus.Reach `json:"-"`
}

// A FileDiff is how one file differs.
type FileDiff struct {
	openmanus.FileChange
	Bytes  int64  `json:"bytes" doc:"Its size afterwards."`
	Was    int64  `json:"was" doc:"Its size before."`
	Mode   string `json:"mode,omitempty" doc:"How its permissions changed."`
	From   string `json:"from,omitempty" doc:"The name that it was moved from."`
	Binary bool   `json:"binary,omitempty" doc:"There is no diff: it is no text, or large."`
	Diff   string `json:"diff,omitempty" doc:"The unified diff."`
}
