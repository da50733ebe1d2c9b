import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { eventually, PATIENCE_MS } from './eventually.ts';
import { missing, program } from './installed.ts';

/** No sandbox, because tests run as root; and nothing that Chromium does on its own account. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

// What runs in a page is written as text: tests are checked without the types of browsers.
const REPORT_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  reportViolation([event.violatedDirective, event.blockedURI, event.sample].join(' ')))`;
const axeSource = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Scope {
  plan(count: number, reason: string): void;
  teardown(fn: () => unknown): void;
}

/** What went wrong in a page beside what its user sees. */
export interface Faults {
  /** What the Content Security Policy kept from happening: the directive and what it was about. */
  readonly violations: string[];
  /** Errors of scripts that nobody caught. */
  readonly errors: string[];
  /** Dialogs that a script opened; each is dismissed. */
  readonly dialogs: string[];
}

/** A page of one user, with cookies of its own, and what went wrong in it so far. */
export interface Visit extends Faults {
  readonly page: Page;
}

/**
 * Starts Chromium; it ends when the test ends. One per test file is enough: each visit has its own cookies. Where it is
 * missing, the whole file is skipped, so call it before anything else is started.
 */
export async function startBrowser(t: Scope, more: readonly string[] = []): Promise<Browser> {
  const reason = missing('chromium');
  if (reason !== false) {
    t.plan(0, reason);
    process.exit();
  }
  const browser = await chromium.launch({
    executablePath: program('chromium'),
    args: [...ARGUMENTS, ...more],
  });
  t.teardown(() => browser.close());
  return browser;
}

/** How a user comes: for example `{colorScheme: 'dark', ...PHONE}`. */
export interface VisitOptions extends BrowserContextOptions {
  /** What is said to a question of a script; no otherwise. */
  readonly says?: 'yes';
}

/** A new user of the browser with an empty page; gone when the test ends. */
export async function visit(
  t: Scope,
  browser: Browser,
  { says, ...options }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  t.teardown(() => context.close());
  context.setDefaultTimeout(PATIENCE_MS);
  const faults: Faults = { violations: [], errors: [], dialogs: [] };
  await context.exposeBinding('reportViolation', (_, text: string) => faults.violations.push(text));
  await context.addInitScript(REPORT_VIOLATIONS);
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.errors.push(String(error)));
  page.on('dialog', (dialog) => {
    faults.dialogs.push(`${dialog.type()}: ${dialog.message()}`);
    return says === 'yes' ? dialog.accept() : dialog.dismiss();
  });
  return { page, ...faults };
}

/** The screen of a small phone. */
export const PHONE = {
  viewport: { width: 360, height: 740 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
} as const satisfies BrowserContextOptions;

/** Waits until what the page has begun to report is in its faults. */
export async function settled(page: Page): Promise<void> {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
}

/** Waits until a page does not ask whether to leave it, because all that was written in it is kept. */
export async function mayBeLeft(page: Page): Promise<void> {
  const asksNothing = "dispatchEvent(new Event('beforeunload', { cancelable: true }))";
  if (!(await eventually(() => page.evaluate<boolean>(asksNothing))))
    throw new Error('the page may not be left');
}

/** Waits until the box for new notes has its script, which is loaded when the page is idle. Until then files are not taken. */
export async function boxIsReady(page: Page): Promise<void> {
  // Its script opens the box at any input.
  const isReady = () =>
    page.evaluate<boolean>(`(() => {
      const box = document.querySelector('#compose');
      box.classList.remove('open');
      box.dispatchEvent(new Event('input'));
      return box.classList.contains('open');
    })()`);
  if (!(await eventually(isReady))) throw new Error('the box for new notes has no script');
}

/** Waits until a loaded page sends its requests to the route that was just added: its process hears of the first one late. */
export async function isRouted(page: Page): Promise<void> {
  const address = new URL('/static/routed', page.url()).href;
  let isMet = false;
  await page.route(address, (route) => {
    isMet = true;
    return route.fulfill({ status: 204 });
  });
  const meets = async () => {
    // The service worker leaves it alone.
    await page.evaluate(`fetch('${address}', {method: 'DELETE'}).catch(() => {})`);
    return isMet;
  };
  if (!(await eventually(meets))) throw new Error('the page does not use its routes');
  await page.unroute(address);
}

/**
 * What axe-core finds wrong with the page as it is shown, one line for each element; empty for a good page. Text must have a
 * contrast of 7 to 1 (WCAG 2.2, 1.4.6).
 */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(await axeSource);
  const { violations } = await page.evaluate<AxeResults>(
    "axe.run({rules: {'color-contrast-enhanced': {enabled: true}}})",
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary?.replaceAll(/\s+/g, ' ')}`),
  );
}

/** Everybody can use the page as it is shown now: axe-core finds nothing, and nobody has to scroll sideways. */
export async function isUsable(t: Test, page: Page, name = page.url()): Promise<void> {
  t.same(await axeFindings(page), [], `axe, ${name}`);
  t.equal(await overflow(page), 0, `width, ${name}`);
}

/** The same in both color schemes. */
export async function isUsableInBoth(t: Test, page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' });
  t.same(await contrastFindings(page), [], 'dark');
  await page.emulateMedia({ colorScheme: 'light' });
  t.same(await axeFindings(page), [], 'light');
}

/** Texts with a contrast of less than 7 to 1, as their HTML; what cannot be used now does not count. */
export async function contrastFindings(page: Page): Promise<string[]> {
  await page.evaluate(await axeSource);
  const { violations } = await page.evaluate<AxeResults>("axe.run({runOnly: ['color-contrast-enhanced']})");
  return violations.flatMap(({ nodes }) => nodes.map(({ html }) => html));
}

/** By how many pixels the page is wider than the screen: whoever reads it has to scroll sideways. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
