package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A form in a closed shadow root in a frame of another origin in a frame.
func TestFormInShadowRootInFrame(t *testing.T) {
	var other string
	url := site(t, map[string]http.HandlerFunc{
		"/outer": func(w http.ResponseWriter, r *http.Request) {
			serve(fmt.Sprintf(`<title>Outer</title><h1>Outer page</h1><p style="height:100px">above</p>
				<iframe src="%s/inner" width=500 height=300 style="border:7px solid;margin:11px"></iframe><button>Outer button</button>`, other))(w, r)
		},
		"/inner": serve(`<p>Inner page</p><div id=host></div><script>
			const root = document.querySelector("#host").attachShadow({mode: "closed"});
			root.innerHTML = '<form><label>Name <input name=n></label><label>Colour <select><option>red<option>blue</select></label><label><input type=checkbox> I agree</label><button>Send</button></form><p id=out></p>';
			root.querySelector("form").onsubmit = e => { e.preventDefault();
				root.querySelector("#out").textContent = "Thank you, " + root.querySelector("input").value + ", for " + root.querySelector("select").value + " " + root.querySelector("[type=checkbox]").checked; };
		</script>`),
	})
	other = elsewhere(t, url)
	ctx, tab := open(t, url+"/outer")
	p := look(t, ctx, tab)
	t.Logf("%s", p)
	if _, err := tab.Type(ctx, find(t, p, "input", "Name"), "Ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Select(ctx, find(t, p, "select", "Colour"), "blue"); err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Click(ctx, find(t, p, "checkbox", "agree"), Button{}); err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Click(ctx, find(t, p, "button", "Send"), Button{}); err != nil {
		t.Fatal(err)
	}
	p = look(t, ctx, tab)
	if !strings.Contains(p.String(), "Thank you, Ann, for blue true") {
		t.Fatalf("the page says:\n%s", p)
	}
}
