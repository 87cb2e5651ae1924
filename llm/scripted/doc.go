// Package scripted is a model whose replies stand in a file. It streams like a real
// one, needs no key and no network, and gives the same replies each time. It is for
// demonstrations, tests, bug reports, and to learn how an agent works.
//
// A script is a txtar archive, which a person can write by hand:
//
//	Counts the lines of a file.        <- text before the first section is for people
//
//	-- 1 --
//	I count the lines.
//
//	@call bash
//	  command: wc -l notes.txt
//
//	-- 2 --
//	There are three lines.
//
// # Replies
//
// Each section is a reply. Its name says to which conversations: -- 1 -- is the
// assistant's first reply, -- 2 -- its second, and so on. More words may follow, for
// people: -- 2 after counting --. These are names, too:
//
//	-- look --       any other word: the reply after that of the section before
//	-- 3-7 --        replies 3 to 7
//	-- 3- --         all from 3 on
//	-- 3-/2 --       every second from 3 on: 3, 5, 7...
//	-- any --        all
//
// If several sections fit, the first in the file replies. In sections that reply more
// than once, {{n}} stands for the number of the reply.
//
// A reply depends on the conversation alone. So a run that was killed continues where
// it was, and any number of sessions can share a script.
//
// # The content of a reply
//
// Lines are text, without the empty lines around it. A line that begins with
// @ is one of the following (and @@ begins a line of text with one @):
//
//	@call NAME {"key": "value"}     a call, with its arguments as JSON, on one line or more
//	@call NAME                      a call, with its arguments on indented lines:
//	  key: some text                  a string, to the end of the line
//	  key: <<END                      a string of several lines, each ended by a newline
//	some lines
//	END
//	  key = 12                        any JSON, on one line or more
//	@call NAME <<END                the exact arguments, such as broken JSON
//	{"key":
//	END
//	@call NAME#ID ...               a call with an id of its own; NAME# has an empty one
//	@thinking some text             the model's thinking; <<END is possible here, too
//	@stop length                    why it ends: end, tool_use, length, filter, refusal
//	@usage input=900 output=20 cached=800    tokens; else they are estimated, four bytes to a token
//	@pace 20ms                      between fragments; at the head of the file, for all replies
//
// Where a line such as "-- x --" is part of a text, write "@-- x --".
//
// # Failures
//
//	@fail 429 retry-after=2s times=2 Slow down.   an error, here, of an HTTP status or a kind
//	@fail network It is gone.                     auth model rate_limit context filter refusal network timeout protocol
//	@cut                            the reply breaks off here
//	@cut 20 times=1                 ... or after so many bytes of its texts and arguments
//
// With times, the first attempts at that reply fail, and later ones succeed. The
// attempts of a conversation are counted in its [llm.Memo], so a new process begins
// to count again.
//
// # Conditions
//
//	@when results contains 3 notes.txt   the section replies only if this holds
//	@expect tools contains bash          if this does not hold, the request fails and says why
//
// After @when and @expect stands the part of the request to look at: system, tools
// (their names), task (the user's first message), user (the user's last), last (the
// last message of any role), results (of the calls in the last reply), errors (the
// results that are errors) or conversation (all messages). Then follows contains, is,
// or matches (a regular expression), or one of them after "not"; then a text: to the
// end of the line, or "quoted", or <<END.
//
// # Example
//
//	-- 1 --
//	@expect tools contains bash
//	@call bash {"command": "cat answer.txt"}
//
//	-- 2 if it is there --
//	@when results contains 42
//	It says 42.
//
//	-- 2 if not --
//	@fail 503 times=1 The server is busy.
//	There is no answer.
package scripted
