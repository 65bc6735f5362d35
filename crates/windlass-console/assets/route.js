// Which view the address names: `#/`, `#/pool/NAME` or `#/remote`.

/** The view that the address names. */
export function currentRoute() {
  const path = location.hash.replace(/^#/, '');
  const pool = /^\/pool\/(.+)$/.exec(path);
  if (pool !== null) return { view: 'pool', name: decode(pool[1]) };
  return path === '/remote' ? { view: 'remote' } : { view: 'overview' };
}

/** The address of a pool's view. */
export function poolAddress(name) {
  return `#/pool/${encodeURIComponent(name)}`;
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
