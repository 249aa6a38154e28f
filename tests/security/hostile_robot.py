"""A robot whose every name is an attack on a page."""

ATTACKS = (
    "<script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "[click](javascript:window.hit=1)",
    "' onmouseover='window.hit=1' x='",
    '" autofocus onfocus="window.hit=1',
    "</style><svg onload=window.hit=1>",
    "]]>&lt;b&gt;",
)


def hostile_urdf():
    """A chain of links and joints with these names."""
    from xml.sax.saxutils import quoteattr

    def inertial(m):
        return (
            f'<inertial><origin xyz="0.1 0 0"/><mass value="{m}"/>'
            '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
        )

    names = [f"{attack} {k}" for k, attack in enumerate(ATTACKS)]
    parts = [f"<link name={quoteattr(name)}>{inertial(1)}</link>" for name in names]
    for k in range(len(names) - 1):
        parts.append(
            f'<joint name={quoteattr("j" + names[k])} type="revolute">'
            f"<parent link={quoteattr(names[k])}/><child link={quoteattr(names[k + 1])}/>"
            '<origin xyz="0.3 0 0" rpy="0.3 0 0"/><axis xyz="0 1 0"/>'
            '<limit lower="-2" upper="2" effort="10" velocity="3"/></joint>'
        )
    return f"<robot name={quoteattr(ATTACKS[0])}>{''.join(parts)}</robot>"
