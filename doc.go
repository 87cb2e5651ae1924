// Package openmanus defines agents that work on their own: a person states a
// task, a language model decides what to do, and tools do it.
//
// The package defines the central types of the library. The only public package of this module that
// it imports is [llm], the vocabulary of models. Journals are in package journal, the runtime in
// package run, ready-made tools and agents in packages tools and agents, and package host puts them
// together from a configuration.
//
// # An agent
//
// An [Agent] has a model, instructions and tools. [run.Agent] runs it in memory:
//
//	agent := &openmanus.Agent{
//		Name:         "calculator",
//		Instructions: "Answer with a number.",
//		Model:        model,
//		Tools:        []openmanus.Tool{add},
//	}
//	for ev, err := range run.Agent(ctx, agent, "What is 1+2?") {
//		if err != nil {
//			return err
//		}
//		fmt.Println(ev.Seq, ev.Body.Key())
//	}
//
// The error, which comes last, is a [run.Halt] if the agent did not finish: if its model
// failed, a limit stopped it, or somebody has to be asked. [run.Answer] returns the answer
// alone.
//
// An [llm.Model] comes from the package of its provider, such as llm/openai (also for every
// OpenAI-compatible endpoint), llm/anthropic, llm/google or llm/ollama; from the list in
// llm/providers; or, for tests, from llm/scripted. It makes one attempt: [llm.Retry] makes
// more.
//
//	model := llm.Retry(openai.New(openai.Options{Model: "gpt-5-mini", Key: key}), llm.RetryOptions{})
//
// The model replies; the runtime runs the calls in the reply and asks the model
// again with their results, until a reply makes no call. One request and its
// reply are a step.
//
// # Tools and calls
//
// A [Tool] has a [ToolSpec], which the model reads, and a method Run. [Func]
// makes a tool from a function whose argument is a struct:
//
//	type sum struct {
//		A int `json:"a"`
//		B int `json:"b"`
//	}
//
//	var add = openmanus.Func(openmanus.ToolSpec{
//		ToolSpec: llm.ToolSpec{Name: "add", Description: "Adds two numbers."},
//		Hints:    openmanus.Hints{ReadOnly: true},
//	}, func(ctx context.Context, call openmanus.Call, in sum) (openmanus.Result, error) {
//		return openmanus.TextResult("%d", in.A+in.B), nil
//	})
//
// A [Call] is one use of a tool, usually requested by the model, and a [Result] is
// what the tool returns. If a call fails, the model reads the error and the
// session continues. An error that is an [Ask] puts a question to the user: when the answer
// arrives, which may be days later and in another process, Run is called again
// and finds it in [Call].Answers.
//
// [Hints] say what a call may do. Calls that only read run together; all others
// run one after the other. A call that was running when its process died is run
// again only if that is safe.
//
// A tool may implement more: [CallHinter] for hints that depend on the
// arguments, [Previewer] to show the user what a call would do, [SessionCloser]
// to free what it keeps for an idle session.
//
// # Gates and rulings
//
// A [Gate] rules on every call before it runs. Its [Verdict] allows the call,
// denies it with a reason for the model, or asks the user. [Mode] is a gate with
// five settings; package gate has one that is configured by rules. An agent
// without a gate asks about every call that changes something. [AllowAll] asks
// about none.
//
// # Events and journals
//
// Everything that happens in a session is an [Event] in its [Journal]. A journal
// is append-only, and nothing else is stored: no table of sessions, no checkpoint.
// An event has a sequence number, a time and a [Body]; docs/events.md describes
// every type of body.
//
// A body has an idempotency key, which names the question that it answers: "the
// outcome of turn 3", "the result of call c3-1". A journal refuses a second event
// with the same key. So a crash does no harm: a worker may do the same work
// twice, but the journal records it once. The journal returns [ErrExists] if the
// same answer is there already, and [ErrConflict] if a different one is.
//
// [journal.Memory] is a journal in memory, and package store has one in SQLite.
// A journal of your own must pass the suite in journal/journaltest.
//
// Events with the sequence number 0 are provisional: the deltas of a reply
// ([Typing]) and the output of a running call ([Output]). Subscribers see them;
// no journal stores them.
//
// # State
//
// A [State] is the fold of a journal:
//
//	s, err := openmanus.Load(ctx, j, session)
//	fmt.Println(s.Status(), s.Answer, s.Cost.USD())
//
// It has everything that a flow or a surface needs to know: the conversation
// as the model sees it, the calls of the last reply, the messages that the model
// has not read yet, the tokens used and their cost, the child sessions, and the
// [Outcome]. [State.Apply] is deterministic and never fails, so the same events
// make the same state in every process. [State.Pending] returns the calls that
// wait for the user.
//
// A person takes part by appending bodies: [UserSaid] to say something, at any
// time; [Ruled] to allow or deny a call; [Answered] to answer a question;
// [Interrupted] to stop; [Resumed] to continue after a stop, perhaps with higher
// [Limits]. Any process may append them, whether or not it drives the session.
//
// # Flows and tasks
//
// A [Flow] decides what a session does next. Its method Next is a function of
// the state alone, and returns tasks:
//
//	func (f *myFlow) Next(s *openmanus.State) []openmanus.Task
//
// A [Task] is a [Verb] with its arguments: ask the model ([Reply]), rule on a
// call ([Rule]), run it ([Use]), call a tool without asking the model
// ([MakeCall]), open a child session ([Delegate]), make room in the context
// window ([Elide], [Compact]), or end the session ([Stop], [End]). An Agent is
// the simplest flow; package agents has flows that plan and that evaluate
// several attempts. Because a flow has no state of its own, it can be replayed,
// tested with made-up journals, and resumed anywhere.
//
// # Workers and runtimes
//
// A [run.Worker] carries out tasks, and keeps nothing between two of them. A
// runtime calls workers until a session has nothing left to do. [run.Local] is
// the runtime of one process:
//
//	l := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(agent)}}
//	err := openmanus.Open(ctx, j, "s1", agent, &openmanus.UserSaid{
//		ID: "1", Message: llm.Say(llm.User, "What is 1+2?"),
//	})
//	...
//	err = l.Wake(ctx, "s1")
//
// Wake returns when the session has ended or waits for the user; [run.Halted] says
// whether it has finished. Call Wake again after you have appended something, and
// after a restart: it continues from the journal. The process that drives a session holds its [Lease], if the journal is
// a [Locker]; others get [ErrDriven] and can still append. [run.Local.Watch]
// yields the events of a session as they come, provisional ones included.
//
// # Delegation
//
// A call to a tool with [Hints].Delegates opens a child session. The child has
// its own journal and flow, and a share of its parent's limits. The child's
// answer is the result of the call. [run.Tree] returns a session with its
// descendants, and [run.Questions] everything in them that waits for the user.
//
// # Limits
//
// [Limits] bound what a session does for one request: steps, tokens, money, time,
// depth and number of children, and repetitions. A session that reaches one
// stops, with a [Reason], and can be resumed. A [run.Budget] bounds what all
// sessions spend together.
//
// # The context window
//
// If a [Window] is configured, a session makes room before a request would be
// too large: it first replaces old large results by references (elision), then
// older messages by a summary (compaction). Both are events, so a request can
// always be computed again from the journal. Otherwise each request begins with
// the messages of the one before, byte for byte, which is what the caches of
// providers need.
//
// # Secrets and blobs
//
// Large strings and outputs are [Blobs], named by their hash. [journal.Secrets]
// replaces the values of secrets by placeholders in everything that is stored or
// shown, even if they are encoded or split between two deltas.
//
// # Specs
//
// A [Spec] names what a session is made from: agent, model, workspace, sandbox,
// approval mode, flow. It is recorded in the journal, so that the session is
// made from the same parts when it is resumed, forked or served elsewhere.
// Package host makes flows from specs.
//
// [run.Agent]: https://pkg.go.dev/github.com/openmanus-go/openmanus/run#Agent
// [run.Halt]: https://pkg.go.dev/github.com/openmanus-go/openmanus/run#Halt
// [run.Halted]: https://pkg.go.dev/github.com/openmanus-go/openmanus/run#Halted
// [run.Answer]: https://pkg.go.dev/github.com/openmanus-go/openmanus/run#Answer
// [run.Worker]: https://pkg.go.dev/github.com/openmanus-go/openmanus/run#Worker
// [run.Local]: https://pkg.go.dev/github.com/openmanus-go/openmanus/run#Local
// [run.Local.Watch]: https://pkg.go.dev/github.com/openmanus-go/openmanus/run#Local.Watch
// [run.Tree]: https://pkg.go.dev/github.com/openmanus-go/openmanus/run#Tree
// [run.Questions]: https://pkg.go.dev/github.com/openmanus-go/openmanus/run#Questions
// [run.Budget]: https://pkg.go.dev/github.com/openmanus-go/openmanus/run#Budget
// [journal.Memory]: https://pkg.go.dev/github.com/openmanus-go/openmanus/journal#Memory
// [journal.Secrets]: https://pkg.go.dev/github.com/openmanus-go/openmanus/journal#Secrets
package openmanus
