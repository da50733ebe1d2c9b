/** Takes over SIGINT and SIGTERM. The function returned says whether none has come, so that a command can end in order. */
export function untilSignal(): () => boolean {
  let mayGoOn = true;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      mayGoOn = false;
    });
  }
  return () => mayGoOn;
}
