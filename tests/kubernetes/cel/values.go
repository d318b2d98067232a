package main

import (
	"fmt"
	"math"
	"math/big"
	"sort"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// shown is a value as a list of its type's name and what it holds, so that equal texts are equal values of one type.
func shown(value ref.Val) any {
	switch v := value.(type) {
	case types.Bool:
		return pair("bool", bool(v))
	case types.Int:
		return pair("int", int64(v))
	case types.Uint:
		return pair("uint", uint64(v))
	case types.Double:
		return pair("double", double(float64(v)))
	case types.String:
		return pair("string", string(v))
	case types.Bytes:
		return pair("bytes", []byte(v))
	case types.Null:
		return pair("null_type", nil)
	case types.Duration:
		return pair("google.protobuf.Duration", int64(v.Duration))
	case types.Timestamp:
		return pair("google.protobuf.Timestamp", nanoseconds(v.Time))
	case *types.Optional:
		if v.HasValue() {
			return pair("optional_type", []any{shown(v.GetValue())})
		}
		return pair("optional_type", []any{})
	case *types.Type:
		return pair("type", v.TypeName())
	case *apiservercel.Quantity: // a sum
		return pair("kubernetes.Quantity", v.AsDec().String())
	case apiservercel.Quantity:
		return pair("kubernetes.Quantity", v.AsDec().String())
	case apiservercel.URL:
		return pair("kubernetes.URL", v.String())
	case apiservercel.IP:
		return pair("net.IP", v.String())
	case apiservercel.CIDR:
		return pair("net.CIDR", v.String())
	case apiservercel.Semver:
		return pair("kubernetes.Semver", v.String())
	case apiservercel.Format:
		return pair("kubernetes.NamedFormat", v.Name)
	case *apiservercel.Format:
		return pair("kubernetes.NamedFormat", v.Name)
	case traits.Mapper:
		entries := []any{}
		for keys := v.Iterator(); keys.HasNext() == types.True; {
			key := keys.Next()
			entries = append(entries, []any{shown(key), shown(v.Get(key))})
		}
		sort.Slice(entries, func(i, j int) bool { return fmt.Sprint(entries[i]) < fmt.Sprint(entries[j]) })
		return pair("map", entries)
	case traits.Lister:
		items := []any{}
		for elements := v.Iterator(); elements.HasNext() == types.True; {
			items = append(items, shown(elements.Next()))
		}
		return pair("list", items)
	}
	return pair(value.Type().TypeName(), fmt.Sprintf("%T", value))
}

func pair(name string, held any) []any { return []any{name, held} }

func double(number float64) string {
	if math.IsNaN(number) {
		return "nan"
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}

func nanoseconds(at time.Time) *big.Int {
	found := big.NewInt(at.Unix())
	found.Mul(found, big.NewInt(int64(time.Second)))
	return found.Add(found, big.NewInt(int64(at.Nanosecond())))
}
