// SPDX-License-Identifier: Apache-2.0
#include "markup.h"

#include <gtest/gtest.h>

#include "xml_text.h"

namespace oncemq::demo {
namespace {

TEST(Markup, WhatCouldBeTakenForMarkupIsText) {
  EXPECT_EQ(Escaped("a < b & \"c\" > 'd'"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;");
  EXPECT_EQ(Element("p", "<script>"), "<p>&lt;script&gt;</p>");
  EXPECT_EQ(Element("p", "x", "class=\"y\""), "<p class=\"y\">x</p>");
}

TEST(Markup, BytesThatNoDocumentMayHoldAreMarked) {
  EXPECT_EQ(Escaped(std::string_view("a\0b\x1b\xff", 5)), "a?b??");
  EXPECT_EQ(Escaped("a\tb\nc"), "a\tb\nc");
}

// The judge of the report page must be able to say no.
TEST(XmlText, FindsWhatIsNotWellFormed) {
  EXPECT_EQ(WhyNotXml("<!DOCTYPE html>\n<a b=\"c\"><d/>x &amp; y</a>\n"), "");
  for (const char* bad :
       {"<a><b></a></b>", "<a>", "<a></a><b></b>", "<a b=c></a>", "<a>x & y</a>", "<a>&nbsp;</a>",
        "<a b=\"<\"/>", "text", "<a b=\"1\" b=\"2\"/>", "<a>]]></a", "</a>"}) {
    EXPECT_NE(WhyNotXml(bad), "") << bad;
  }
}

}  // namespace
}  // namespace oncemq::demo
