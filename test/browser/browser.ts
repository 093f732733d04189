/** A real Chromium with a profile of its own. Whatever a page asks of the network is on record. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';

const CHROMIUM = process.env.RALPH_CHROMIUM ?? '/usr/bin/chromium';
/** Milliseconds that a busy machine does not reach. */
const PATIENCE = 200_000;
/** Looked at by people; kept out of git. */
const PICTURES = join(import.meta.dirname, '../../pictures');

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
  readonly javaScript?: boolean;
  /** What the user has asked the system for. */
  readonly forcedColors?: boolean;
  readonly reducedMotion?: boolean;
}

export interface Opened {
  readonly page: Page;
  /** Every address that was asked for. */
  readonly requests: readonly string[];
  /** What went wrong in the page: exceptions, errors on its console. */
  readonly errors: readonly string[];
  /** Takes a picture of it, for people to look at. */
  picture(name: string, whole?: boolean): Promise<void>;
}

export async function open(url: string, options: OpenOptions = {}): Promise<Opened> {
  const context = await start(options);
  const page = context.pages()[0] ?? (await context.newPage());
  const requests: string[] = [];
  const errors: string[] = [];
  page.on('request', request => void requests.push(request.url()));
  page.on('pageerror', error => void errors.push(String(error)));
  page.on('console', message => {
    if (message.type() === 'error') errors.push(message.text());
  });
  await page.goto(url, { waitUntil: 'load' });
  mkdirSync(PICTURES, { recursive: true });
  return {
    page,
    requests,
    errors,
    async picture(name, whole = true) {
      await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: whole });
    },
  };
}

async function start({
  width = 1200,
  height = 900,
  dark = false,
  javaScript = true,
  forcedColors = false,
  reducedMotion = false,
}: OpenOptions): Promise<BrowserContext> {
  const profile = mkdtempSync(join(tmpdir(), 'ralph-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: true,
    args: FLAGS,
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    javaScriptEnabled: javaScript,
    forcedColors: forcedColors ? 'active' : 'none',
    reducedMotion: reducedMotion ? 'reduce' : 'no-preference',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  context.setDefaultTimeout(PATIENCE);
  onTestFinished(async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
  });
  return context;
}

/** How much of the page is beyond its right edge. */
export function sideways(page: Pick<Page, 'evaluate'>): Promise<unknown> {
  return page.evaluate('document.documentElement.scrollWidth - innerWidth');
}

/** What axe finds wrong, in a line each. */
export async function accessibility(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(
    // biome-ignore lint/suspicious/noExplicitAny: axe is a stranger in the page
    () => (globalThis as any).axe.run({ resultTypes: ['violations'] }),
  );
  return found.violations.flatMap((violation: { id: string; nodes: readonly { html: string }[] }) =>
    violation.nodes.map(node => `${violation.id}: ${node.html.slice(0, 160)}`),
  );
}
