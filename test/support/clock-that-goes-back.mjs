/** To be imported by a process whose clock is to go back by an hour, some seconds after its start. */
const HOUR = 3_600_000;
const AFTER = 3_000;

const RealDate = Date;
const startedAt = RealDate.now();
const isBack = () => RealDate.now() - startedAt > AFTER;
const now = () => RealDate.now() - (isBack() ? HOUR : 0);

globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [now()] : args));
  }

  static now() {
    return now();
  }
};
