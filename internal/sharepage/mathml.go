package sharepage

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mathML is a formula in TeX as MathML. One that has what is not known here stands as it was
// written.
func mathML(tex string, block bool) string {
	r := &texReader{rest: tex, block: block}
	body, err := r.row("")
	if err == nil && r.rest != "" {
		err = errTeX
	}
	switch {
	case err != nil && block:
		return "<code>" + exact(`\[`+tex+`\]`) + "</code>"
	case err != nil:
		return "<code>" + exact(`\(`+tex+`\)`) + "</code>"
	case block:
		return `<math display="block">` + body + "</math>"
	}
	return "<math>" + body + "</math>"
}

var errTeX = errors.New("this TeX is not known")

// A texReader reads a formula from its beginning.
type texReader struct {
	rest  string
	block bool
	depth int
}

// maxTeXDepth is how deep groups may be nested.
const maxTeXDepth = 40

// next returns the next token: a command with its backslash, a number, or a character.
func (r *texReader) next() string {
	r.rest = strings.TrimLeft(r.rest, " \t\r\n")
	if r.rest == "" {
		return ""
	}
	end := 0
	first, size := utf8.DecodeRuneInString(r.rest)
	switch {
	case first == '\\':
		end = 1
		for end < len(r.rest) && isLetter(r.rest[end]) {
			end++
		}
		if end == 1 && end < len(r.rest) {
			_, size = utf8.DecodeRuneInString(r.rest[1:])
			end += size
		}
	case first >= '0' && first <= '9':
		for end < len(r.rest) && (r.rest[end] >= '0' && r.rest[end] <= '9' || r.rest[end] == '.' && end+1 < len(r.rest) && r.rest[end+1] >= '0' && r.rest[end+1] <= '9') {
			end++
		}
	default:
		end = size
	}
	token := r.rest[:end]
	r.rest = r.rest[end:]
	return token
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func (r *texReader) peek() string {
	was := r.rest
	token := r.next()
	r.rest = was
	return token
}

// row reads up to the token stop, which it consumes, or, if that is "", to the end or to
// what ends a cell of a matrix, which it leaves.
func (r *texReader) row(stop string) (string, error) {
	if r.depth++; r.depth > maxTeXDepth {
		return "", errTeX
	}
	defer func() { r.depth-- }()
	var b strings.Builder
	for {
		switch token := r.peek(); {
		case token == stop:
			r.next()
			return "<mrow>" + b.String() + "</mrow>", nil
		case stop == "" && (token == "&" || token == `\\` || token == `\end`):
			return "<mrow>" + b.String() + "</mrow>", nil
		case token == "":
			return "", errTeX
		}
		part, err := r.scripted()
		if err != nil {
			return "", err
		}
		b.WriteString(part)
	}
}

// scripted reads an atom with what stands above and below it.
func (r *texReader) scripted() (string, error) {
	limits := r.block && limited[r.peek()]
	base, err := r.atom()
	if err != nil {
		return "", err
	}
	var sub, sup string
	for {
		switch token := r.peek(); {
		case token == "_" && sub == "":
			r.next()
			sub, err = r.atom()
		case token == "^" && sup == "":
			r.next()
			sup, err = r.atom()
		case token == "'" && sup == "":
			r.next()
			sup = "<mo>′</mo>"
		default:
			return under(base, sub, sup, limits), nil
		}
		if err != nil {
			return "", err
		}
	}
}

func under(base, sub, sup string, limits bool) string {
	tag := map[bool][3]string{false: {"msub", "msup", "msubsup"}, true: {"munder", "mover", "munderover"}}[limits]
	switch {
	case sub != "" && sup != "":
		return "<" + tag[2] + ">" + base + sub + sup + "</" + tag[2] + ">"
	case sub != "":
		return "<" + tag[0] + ">" + base + sub + "</" + tag[0] + ">"
	case sup != "":
		return "<" + tag[1] + ">" + base + sup + "</" + tag[1] + ">"
	}
	return base
}

// atom reads a group, a command with its arguments, or a token.
func (r *texReader) atom() (string, error) {
	token := r.next()
	if symbol, ok := symbols[token]; ok {
		return symbol, nil
	}
	switch token {
	case "", "}", "&", `\\`, "^", "_", "#", "%", "$", "~":
		return "", errTeX
	case "{":
		return r.row("}")
	}
	if strings.HasPrefix(token, `\`) {
		return r.command(token[1:])
	}
	c, _ := utf8.DecodeRuneInString(token)
	switch {
	case c >= '0' && c <= '9':
		return "<mn>" + token + "</mn>", nil
	case unicode.IsLetter(c):
		return "<mi>" + exact(token) + "</mi>", nil
	}
	return "<mo>" + exact(token) + "</mo>", nil
}

func (r *texReader) command(name string) (string, error) {
	switch name {
	case "frac", "dfrac", "tfrac", "binom":
		a, err1 := r.atom()
		b, err2 := r.atom()
		if name == "binom" {
			return `<mrow><mo>(</mo><mfrac linethickness="0">` + a + b + "</mfrac><mo>)</mo></mrow>", errors.Join(err1, err2)
		}
		return "<mfrac>" + a + b + "</mfrac>", errors.Join(err1, err2)
	case "sqrt":
		if r.peek() != "[" {
			a, err := r.atom()
			return "<msqrt>" + a + "</msqrt>", err
		}
		r.next()
		n, err1 := r.row("]")
		a, err2 := r.atom()
		return "<mroot>" + a + n + "</mroot>", errors.Join(err1, err2)
	case "text", "textbf", "textit", "mathrm", "operatorname", "mathbf", "mathit", "mathsf", "boldsymbol":
		text, err := r.raw()
		return "<mtext>" + exact(text) + "</mtext>", err
	case "mathbb", "mathcal":
		text, err := r.raw()
		return "<mi>" + exact(fancy(name, text)) + "</mi>", err
	case "left":
		return r.fenced()
	case "begin":
		return r.matrix()
	}
	if mark, ok := accents[name]; ok {
		a, err := r.atom()
		if name == "underline" || name == "underbrace" {
			return "<munder>" + a + "<mo>" + mark + "</mo></munder>", err
		}
		return `<mover accent="true">` + a + "<mo>" + mark + "</mo></mover>", err
	}
	return "", errTeX
}

// raw reads the text of a group.
func (r *texReader) raw() (string, error) {
	if r.next() != "{" {
		return "", errTeX
	}
	text, rest, ok := strings.Cut(r.rest, "}")
	if !ok || strings.ContainsAny(text, `{\`) {
		return "", errTeX
	}
	r.rest = rest
	return text, nil
}

// fancy is text in letters of another kind, where Unicode has one for each.
func fancy(name, text string) string {
	if name != "mathbb" {
		return text
	}
	return strings.NewReplacer("C", "ℂ", "E", "𝔼", "N", "ℕ", "P", "ℙ", "Q", "ℚ", "R", "ℝ", "Z", "ℤ").Replace(text)
}

// fence reads what stands at one end of \left … \right.
func (r *texReader) fence() string {
	token := r.next()
	if symbol, ok := symbols[token]; ok {
		return symbol
	}
	if token == "." {
		return ""
	}
	return "<mo>" + exact(strings.TrimPrefix(token, `\`)) + "</mo>"
}

func (r *texReader) fenced() (string, error) {
	begin := r.fence()
	body, err := r.row(`\right`)
	return "<mrow>" + begin + body + r.fence() + "</mrow>", err
}

// matrices are the environments, with what stands around them.
var matrices = map[string][2]string{
	"matrix": {}, "aligned": {}, "align": {}, "align*": {}, "gathered": {}, "pmatrix": {"(", ")"}, "bmatrix": {"[", "]"}, "vmatrix": {"|", "|"}, "cases": {"{", ""},
}

func (r *texReader) matrix() (string, error) {
	name, err := r.raw()
	around, ok := matrices[name]
	if err != nil || !ok {
		return "", errTeX
	}
	var b strings.Builder
	b.WriteString("<mrow><mo>" + around[0] + "</mo><mtable><mtr>")
	for {
		cell, err := r.row("")
		if err != nil {
			return "", err
		}
		b.WriteString("<mtd>" + cell + "</mtd>")
		switch r.next() {
		case "&":
		case `\\`:
			b.WriteString("</mtr><mtr>")
		case `\end`:
			if end, err := r.raw(); err != nil || end != name {
				return "", errTeX
			}
			return b.String() + "</mtr></mtable><mo>" + around[1] + "</mo></mrow>", nil
		default:
			return "", errTeX
		}
	}
}

var accents = map[string]string{
	"hat": "^", "widehat": "^", "bar": "‾", "overline": "‾", "vec": "→", "dot": "˙", "ddot": "¨", "tilde": "~", "widetilde": "~", "underline": "_",
	"overbrace": "⏞", "underbrace": "⏟",
}

// limited are the operators whose bounds stand above and below them in a formula of its own.
var limited = map[string]bool{
	`\sum`: true, `\prod`: true, `\lim`: true, `\max`: true, `\min`: true, `\sup`: true, `\inf`: true, `\argmax`: true, `\argmin`: true, `\bigcup`: true, `\bigcap`: true,
}

// symbols are the commands without arguments, as MathML.
var symbols = func() map[string]string {
	all := map[string]string{`\,`: `<mspace width="0.17em"/>`, `\;`: `<mspace width="0.28em"/>`, `\:`: `<mspace width="0.22em"/>`, `\!`: "",
		`\ `: `<mspace width="0.3em"/>`, `\quad`: `<mspace width="1em"/>`, `\qquad`: `<mspace width="2em"/>`, "-": "<mo>−</mo>", "*": "<mo>∗</mo>",
		`\displaystyle`: "", `\limits`: "", `\nonumber`: "", `\big`: "", `\Big`: "", `\bigl`: "", `\bigr`: "", `\|`: "<mo>‖</mo>"}
	pairs := func(tag, text string) {
		for _, pair := range strings.Fields(text) {
			name, sign, _ := strings.Cut(pair, "=")
			all[`\`+name] = "<" + tag + ">" + esc(sign) + "</" + tag + ">"
		}
	}
	pairs("mi", `alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ nu=ν xi=ξ pi=π
		rho=ρ sigma=σ tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Phi=Φ Psi=Ψ Omega=Ω
		infty=∞ partial=∂ nabla=∇ ell=ℓ hbar=ℏ emptyset=∅ Re=ℜ Im=ℑ ldots=… dots=… cdots=⋯ vdots=⋮ ddots=⋱
		sin=sin cos=cos tan=tan cot=cot arcsin=arcsin arccos=arccos arctan=arctan sinh=sinh cosh=cosh tanh=tanh log=log ln=ln lg=lg exp=exp lim=lim max=max
		min=min sup=sup inf=inf det=det dim=dim ker=ker gcd=gcd Pr=Pr arg=arg argmax=argmax argmin=argmin deg=deg`)
	pairs("mo", `times=× cdot=⋅ div=÷ pm=± mp=∓ ast=∗ star=⋆ circ=∘ bullet=∙ oplus=⊕ otimes=⊗ le=≤ leq=≤ ge=≥ geq=≥ ne=≠ neq=≠ approx=≈ equiv=≡ sim=∼
		simeq=≃ cong=≅ propto=∝ ll=≪ gg=≫ in=∈ notin=∉ ni=∋ subset=⊂ subseteq=⊆ supset=⊃ supseteq=⊇ cup=∪ cap=∩ setminus=∖ land=∧ wedge=∧ lor=∨
		vee=∨ neg=¬ lnot=¬ forall=∀ exists=∃ to=→ rightarrow=→ leftarrow=← Rightarrow=⇒ Leftarrow=⇐ leftrightarrow=↔ Leftrightarrow=⇔ iff=⇔ implies=⇒
		mapsto=↦ uparrow=↑ downarrow=↓ sum=∑ prod=∏ int=∫ iint=∬ oint=∮ bigcup=⋃ bigcap=⋂ mid=∣ parallel=∥ perp=⊥ angle=∠ langle=⟨ rangle=⟩ lfloor=⌊
		rfloor=⌋ lceil=⌈ rceil=⌉ lvert=| rvert=| vert=| Vert=‖ prime=′ colon=: {={ }=} %=% $=$ #=# &=& _=_ therefore=∴ because=∵`)
	return all
}()
