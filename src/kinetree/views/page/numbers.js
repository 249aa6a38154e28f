// Numbers as text, on all pages.

// A number with `digits` significant digits, without a sign on zero and with few characters.
function numberText(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const size = Math.abs(x), short = Number(x.toPrecision(digits));
  if (size < 1e-12) return "0";
  const text = size >= 1e5 || size < 1e-3 ? short.toExponential() : String(short);
  return text.replace("e+", "e").replaceAll("-", "−");
}
