package catalog

// Header gives a key of the metadata of events a type: an entry of `headers:`, at the top level or in a policy. Several
// entries of one name, in different places, have one type and one Go name.
type Header struct {
	Name     Value[string] // the key in the metadata
	GoName   string        // Tenant, of WithTenant, TenantOf and HeaderTenant
	Type     *TypeRef      // a built-in scalar
	Required Value[bool]
	Doc      string
}

// HeaderTypes lists the kinds that headers can have.
var HeaderTypes = []string{"string", "bool", "int", "int32", "int64", "uint64", "float64", "time", "date", "duration", "uuid", "decimal"}

// Option returns the name of the generated function that sets the header.
func (h *Header) Option() string { return "With" + h.GoName }

// Accessor returns the name of the generated function that reads it.
func (h *Header) Accessor() string { return h.GoName + "Of" }

// Constant returns the name of the generated constant that is its name.
func (h *Header) Constant() string { return "Header" + h.GoName }

// InShort says in words what the header is: string, required.
func (h *Header) InShort() string {
	if h.Required.V {
		return h.Type.Text + ", required"
	}
	return h.Type.Text
}

// AllHeaders returns the first entry of each header: those of all events, and then those that only policies have.
func (c *Catalogue) AllHeaders() []*Header {
	var all []*Header
	known := map[string]bool{}
	add := func(headers []*Header) {
		for _, h := range headers {
			if !known[h.Name.V] {
				known[h.Name.V] = true
				all = append(all, h)
			}
		}
	}
	add(c.Headers)
	for _, p := range c.Policies {
		add(p.Headers)
	}
	return all
}

// OverlayHeaders returns headers with those of a more specific place, which replace others of their names.
func OverlayHeaders(headers, over []*Header) []*Header {
	if over == nil {
		return headers
	}
	replaced := map[string]bool{}
	for _, h := range over {
		replaced[h.Name.V] = true
	}
	var all []*Header
	for _, h := range headers {
		if !replaced[h.Name.V] {
			all = append(all, h)
		}
	}
	return append(all, over...)
}
