/** Scheme with user and password, then the hosts, then the rest. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;

/**
 * The URLs of the servers that a `postgres:` URL names, one for each host of its list (libpq, "Specifying Multiple Hosts").
 * Undefined if one of them cannot be read.
 */
export function hostUrls(url: string): readonly string[] | undefined {
  const [, before = '', list = '', after = ''] = PARTS.exec(url) ?? [];
  const hosts = list.split(',');
  const urls = hosts.map((host) => before + host + after);
  if (before === '' || !urls.every((one) => URL.canParse(one))) return undefined;
  const { searchParams } = new URL(urls[0]!);
  // The client would take a list in a parameter for one name.
  if (['host', 'port'].some((name) => searchParams.get(name)?.includes(','))) return undefined;
  const isList = hosts.length > 1;
  return isList && (searchParams.has('host') || hosts.some(isUnnamed)) ? undefined : urls;
}

function isUnnamed(host: string): boolean {
  return host === '' || host.startsWith(':');
}
