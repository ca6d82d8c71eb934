import { spawn } from 'node:child_process';

/** The programs that open a link in the user's browser. */
const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  linux: ['xdg-open', 'sensible-browser', 'x-www-browser'],
};

/** False if no program opens it. */
export async function openBrowser(link: string): Promise<boolean> {
  for (const program of openers[process.platform] ?? []) {
    if (await starts(program, link)) return true;
  }
  return false;
}

function starts(program: string, link: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, [link], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
