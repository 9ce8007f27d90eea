#!/bin/sh
# A scripted tester in place of a model: it reads SPEC.md, fails to read the code, and writes tests of what is promised.
set -eu

echo "tester: what I may read:"
ls
echo "tester: the code would tell me how it is done:"
cat src/slug/__init__.py || echo "tester: it stays closed; SPEC.md says what is promised"

cat >tests/test_slug.py <<'END'
import unittest

from slug import slugify, unique


class Slugify(unittest.TestCase):
    def test_letters_stay_in_lower_case(self):
        self.assertEqual(slugify("Hello World 2"), "hello-world-2")

    def test_a_run_of_other_characters_becomes_one_hyphen(self):
        self.assertEqual(slugify("a -- b"), "a-b")

    def test_no_hyphen_at_the_ends(self):
        self.assertEqual(slugify(" (a) "), "a")

    def test_accents_are_lost(self):
        self.assertEqual(slugify("Crème brûlée"), "creme-brulee")

    def test_a_letter_outside_ascii_is_another_character(self):
        self.assertEqual(slugify("a\u044fb"), "a-b")

    def test_cut_at_the_end_of_a_word(self):
        self.assertEqual(slugify("one two three", limit=9), "one-two")

    def test_a_word_that_ends_at_the_limit_stays(self):
        self.assertEqual(slugify("one two three", limit=7), "one-two")

    def test_cut_in_a_word_that_is_longer_than_the_limit(self):
        self.assertEqual(slugify("abcdefgh", limit=5), "abcde")

    def test_nothing_left_is_untitled(self):
        self.assertEqual(slugify("!?"), "untitled")

    def test_a_limit_below_one_is_an_error(self):
        with self.assertRaises(ValueError):
            slugify("a", limit=0)


class Unique(unittest.TestCase):
    def test_a_free_name_stays(self):
        self.assertEqual(unique("a", {"b"}), "a")

    def test_a_taken_name_gets_the_first_free_number(self):
        self.assertEqual(unique("a", {"a", "a-2", "a-4"}), "a-3")
END
echo "tester: wrote tests/test_slug.py"
