/** A command was given other arguments than it takes. The list of all commands is shown for it. */
export class WrongArguments extends Error {}
