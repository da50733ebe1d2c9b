// CommonJS without types, so that an old Node can run it and name the version that is needed. (The `engines` of package.json
// are for npm, which may run on an older one: it installs the right one.)
const NEEDED = '22.19';

/** Whether a version such as `22.19.0` is at least another one such as `22.19`. */
function isAtLeast(version, least) {
  const [wanted, found] = [least, version].map((text) => text.split('.').map(Number));
  return found[0] > wanted[0] || (found[0] === wanted[0] && found[1] >= wanted[1]);
}

if (isAtLeast(process.versions.node, NEEDED)) {
  // Threads of this pool sync files, and the default of 4 is too few for concurrent posts.
  if (!process.env.UV_THREADPOOL_SIZE) process.env.UV_THREADPOOL_SIZE = '24';
  import(require('./plain-sources.cjs').makeOnce() ? '../build/src/main.js' : './main.ts');
} else {
  console.error(
    `Note Feed needs Node >=${NEEDED} and this is ${process.versions.node}. ` +
      '"npm start" uses the right one, which "npm ci" installs beside the service.',
  );
  process.exit(1);
}
