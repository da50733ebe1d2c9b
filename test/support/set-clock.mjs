/**
 * To be imported by a process whose clock, in all its threads, is the test's: the file that CLOCK_FILE names says by how
 * many ms it is ahead.
 */
import { readFileSync } from 'node:fs';

const realNow = Date.now;
const ahead = () => Number(readFileSync(process.env.CLOCK_FILE, 'utf8')) || 0;

Date.now = () => realNow() + ahead();
